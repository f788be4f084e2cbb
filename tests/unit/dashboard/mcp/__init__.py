"""Tests of MCP: servers behind the gateway, and the gateway."""
