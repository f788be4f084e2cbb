"""How the one statement of a step is written."""
