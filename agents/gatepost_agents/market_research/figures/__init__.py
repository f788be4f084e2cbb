"""Computes the figures of a report and puts them into words."""
