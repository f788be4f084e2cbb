"""What one verdict changes: its judgement, the row of the decision, and the outcome."""
