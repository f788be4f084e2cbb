"""Threads that start others: their children, news of these, and verbs that reach a whole tree."""
