"""Writers of what the overview reads: figures by day, and budgets."""
