"""Rows about threads that start others."""
