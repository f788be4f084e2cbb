"""Doorbells that are lost, repeated, forged or garbage."""
