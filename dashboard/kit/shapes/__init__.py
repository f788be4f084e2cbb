"""The shapes of requests and answers of the API."""
