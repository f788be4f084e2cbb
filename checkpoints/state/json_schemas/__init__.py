"""JSON Schemas that others wrote: whether one is sound, and what is wrong with a value."""
