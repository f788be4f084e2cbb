"""What a step holds and may do: the ledger, the guard, retries, rules."""
