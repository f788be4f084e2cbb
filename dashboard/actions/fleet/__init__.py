"""Actions on many threads at once: breakers."""
