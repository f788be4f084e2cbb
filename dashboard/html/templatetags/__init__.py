"""Template tags and filters; Django looks for them here."""
