"""One good example of each call, by kind."""
