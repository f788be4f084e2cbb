"""Shared parts of the commands: arguments, output as table or JSON, exit codes."""
