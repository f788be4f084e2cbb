"""The tables of the top floor."""
