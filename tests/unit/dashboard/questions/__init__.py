"""Tests of questions to the record."""
