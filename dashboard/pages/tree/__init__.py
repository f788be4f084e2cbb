"""Family trees on pages."""
