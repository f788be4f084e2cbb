"""The gateway: any MCP client reaches any MCP server through it; tool calls obey our policies."""
