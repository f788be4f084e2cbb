"""The kinds of notifications and their texts; pure."""
