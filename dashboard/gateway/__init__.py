"""MCP both ways: any client reaches any MCP server by our policies; Gatepost itself is one."""
