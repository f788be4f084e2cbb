"""`python -m tests.faults.chaos`: faults strike a fleet all the time; a verdict from outside."""
