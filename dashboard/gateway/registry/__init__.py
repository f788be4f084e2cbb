"""MCP servers behind the gateway, their tools, and what an admin lets each tool do."""
