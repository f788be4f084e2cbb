"""What a fork, rollback or cancel says before it happens."""
