"""Answers of model servers as data, and what reads them right."""
