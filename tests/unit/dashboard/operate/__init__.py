"""Tests of what keeps an installation running."""
