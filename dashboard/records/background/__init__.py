"""Rounds that the sweep of workers starts: the record is verified, retention rules are applied."""
