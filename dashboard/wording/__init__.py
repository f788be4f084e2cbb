"""Facts in plain words, the same for pages, API and commands; pure."""
