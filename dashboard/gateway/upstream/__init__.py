"""Servers of others by the Model Context Protocol: messages, connections, programs, their tools."""
