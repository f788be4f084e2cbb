"""Erasure of threads: requested by one person, approved by another; legal holds; retention."""
