"""Pages: who asks, forms with their problems, addresses, refusals."""
