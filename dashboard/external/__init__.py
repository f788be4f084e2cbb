"""Agents that work elsewhere: leases, reports, questions, saved states, spans."""
