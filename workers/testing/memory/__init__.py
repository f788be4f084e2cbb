"""Threads and requests kept in memory: the same rules as the store's, gone with the process."""
