"""The tables of floor 1, and beside them their functions, triggers and indexes in SQL."""
