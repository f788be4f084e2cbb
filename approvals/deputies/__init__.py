"""Deputies: who may act for whom, for a time or in one request."""
