"""Pages that follow the work: one hub per process, sockets, hints."""
