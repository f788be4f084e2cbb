"""The top floor and composition root: pages, API, commands, settings."""
