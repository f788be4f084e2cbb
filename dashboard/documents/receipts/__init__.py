"""Where the values of a proposal come from, read from the record for page and API."""
