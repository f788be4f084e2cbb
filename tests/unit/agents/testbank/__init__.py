"""The test bank."""
