"""Inbound hooks: who outside may deliver decisions, and what they delivered."""
