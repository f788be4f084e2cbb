"""The tables of the ground floor, and beside them their functions, triggers and indexes in SQL."""
