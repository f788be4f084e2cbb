"""Commands that run the installation: start, check, migrate, encrypt, reset, demo, packages."""
