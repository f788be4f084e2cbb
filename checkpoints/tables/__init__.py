"""The columns of each table, listed once, and rows read by the names of their columns."""
