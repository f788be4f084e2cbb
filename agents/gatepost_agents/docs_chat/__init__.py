"""A chat about the installed packages that keeps nothing: each turn reads, answers and ends."""
