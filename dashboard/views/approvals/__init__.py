"""Views of the inbox and of one request."""
