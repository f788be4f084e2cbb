"""Sources of the values of a proposal, read from the record for page and API."""
