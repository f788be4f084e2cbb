"""What is on record around one checkpoint, beside its state: the parts of its anatomy."""
