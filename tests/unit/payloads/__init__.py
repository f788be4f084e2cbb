"""Where large values live: one contract for all stores, references, folders."""
