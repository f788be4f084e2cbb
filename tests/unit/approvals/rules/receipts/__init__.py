"""Tests of the receipts of proposals."""
