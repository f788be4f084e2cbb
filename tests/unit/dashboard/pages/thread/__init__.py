"""The page of a thread and of its past."""
