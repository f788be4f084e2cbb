"""What differs between installations, read from the environment and from files."""
