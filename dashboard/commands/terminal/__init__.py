"""What the commands share: arguments, output as table or JSON, exit codes."""
