"""What all rooms share: actions declared once, and the base of calls, commands and pages."""
