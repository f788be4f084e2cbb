"""The protocol of all API calls: authentication, limits, parsing, idempotency, streams."""
