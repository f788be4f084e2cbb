"""The door for agents that work elsewhere: leases, reports, questions, saved states, spans."""
