"""The page of one thread: what its regions read and show."""
