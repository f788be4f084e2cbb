"""Accounts: who has one, with which roles, and which changes wait for a second admin."""
