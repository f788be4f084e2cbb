"""Commands of erasure, legal holds and retention."""
