"""The dependency audit: what it reads, what it says, and its children."""
