"""What people do to many threads at once: breakers."""
