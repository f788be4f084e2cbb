"""Actions declared once: API call, command and dialog are made from the declaration."""
