"""The loop of a model and its tools, played and worked by real workers."""
