"""States that are not kept: the copies of ephemeral threads in Valkey, and messages for them."""
