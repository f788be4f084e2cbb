"""Agents of hazards, copied out of the repository to where a worker finds them."""
