"""Encrypted channels: the data keys of threads, and sealing what is about to be stored."""
