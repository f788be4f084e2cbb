"""Model Context Protocol: the gateway before the servers of others, and our own server."""
