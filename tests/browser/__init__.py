"""Walks through the product in Chromium."""
