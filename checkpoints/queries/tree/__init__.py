"""Family trees: what a thread reads of the threads it started, and what pages show of all."""
