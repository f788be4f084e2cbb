"""Tests of the test bench itself."""
