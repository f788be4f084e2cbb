"""The author's test bench: the same engine on a ledger in memory."""
