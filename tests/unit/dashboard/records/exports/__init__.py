"""Exports of the record, and verifying them without Gatepost."""
