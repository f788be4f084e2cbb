"""The board: threads by lane, filters, breakers, incidents, the overview, saved views."""
