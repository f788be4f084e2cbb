"""Capsules: one file that holds a thread, or one checkpoint, with all that it rests on."""
