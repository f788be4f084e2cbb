"""Gatepost as an MCP server: tools and resources over the calls of the API, at `/mcp/`."""
