"""The proof of the record: chains, columns, anchors; what is damaged."""
