"""What all API calls share: authentication, limits, parsing, idempotency, streams."""
