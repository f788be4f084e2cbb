"""The calls about MCP servers behind the gateway."""
