"""Real processes that are killed, frozen, cut off and filled; the servers that `make up` starts."""
