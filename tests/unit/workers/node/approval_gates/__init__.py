"""Gates as a node opens and passes them."""
