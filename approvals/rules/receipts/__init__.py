"""Receipts: where each value of a proposal comes from, by strict comparison; pure, no model."""
