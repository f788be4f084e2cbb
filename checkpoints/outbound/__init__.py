"""Calls to other machines: which secrets they may carry, which addresses they may go to."""
