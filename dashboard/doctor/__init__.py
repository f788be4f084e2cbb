"""What `doctor` looks at: is everything there, reachable, safe and up to date; reads only."""
