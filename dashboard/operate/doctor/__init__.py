"""The checks of `doctor`: is everything there, reachable, safe, up to date; reads only."""
