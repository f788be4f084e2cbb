"""Rows about many: a board of a million threads, a thousand sockets, the record of all of them."""
