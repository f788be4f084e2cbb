"""What an export reads of the chains: the end of a log, and every link up to it."""
