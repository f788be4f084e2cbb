"""Threads whose names end in a number, as those of the gateway's conversations do."""
