"""Pages about one's own account."""
