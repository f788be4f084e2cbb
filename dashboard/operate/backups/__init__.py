"""Backups of the database and its files, and restoring them with proof."""
