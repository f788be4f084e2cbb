"""Work on the record of a thread: its lease, steps, effects, questions, its end."""
