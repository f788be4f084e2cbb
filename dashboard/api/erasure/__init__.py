"""Calls about erasure, legal holds and retention."""
