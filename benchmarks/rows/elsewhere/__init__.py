"""Rows about agents that work elsewhere: what they report through the HTTP API."""
