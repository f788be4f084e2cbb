"""Small agents with effects, gates and undo, and people who answer them."""
