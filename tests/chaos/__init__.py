"""`python -m tests.chaos`: a fleet that is struck all the time, and a verdict from outside."""
