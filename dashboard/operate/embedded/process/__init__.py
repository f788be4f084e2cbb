"""Child processes of `up`: start, supervise, end, and their folders."""
