"""What agents that work elsewhere do, by its verbs."""
