"""What every page, call, command and socket has in common; clients of them."""
