"""Tables of alike rows in a proposal, and marks that say where values come from."""
