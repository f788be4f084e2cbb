"""Threads in a real browser: started, changed, interrupted, forked and rolled back."""
