"""Configuration of an installation, read from the environment and from files."""
