"""Gatepost as an MCP server, by the SDK's own client and by an outside referee."""
