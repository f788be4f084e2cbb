"""Policies, through pages and calls."""
