"""What people do to one thread: each action with its input, what it does and its words."""
