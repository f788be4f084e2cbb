"""Tests of tables in proposals."""
