"""The board: breakers, declared for all of their endpoints."""
