"""What narrows a list, declared once for its page, call, command, breakers and saved views."""
