"""What a person brings: a table and settings, and what can be wrong with them."""
