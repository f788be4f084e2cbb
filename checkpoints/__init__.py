"""The ground floor: what a thread is, and everything that was ever written about it."""
