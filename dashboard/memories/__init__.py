"""Memory: what agents know, as people list, search, read, correct and delete it."""
