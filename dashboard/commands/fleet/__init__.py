"""Commands about the whole fleet: its figures and budgets."""
