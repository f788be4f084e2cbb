"""Running an installation: its commands, its processes, their health, logs and settings."""
