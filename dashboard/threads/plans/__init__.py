"""Plans of what a change of a thread would do, computed beforehand; reads only."""
