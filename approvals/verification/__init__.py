"""Verification of whole records: threads with all that the floors hold beside them, workspaces."""
