"""What all pages have in common in a real browser: look, access, live updates, hostile text."""
