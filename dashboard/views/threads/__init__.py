"""Views of a thread and of everything a person does to it."""
