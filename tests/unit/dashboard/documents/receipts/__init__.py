"""Tests of the receipts of requests, by threads of a real engine."""
