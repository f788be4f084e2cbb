"""Actions on hooks, MCP servers, policies and files."""
