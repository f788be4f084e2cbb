"""Agents that work elsewhere and report: their steps by our store, gates, policies and caps."""
