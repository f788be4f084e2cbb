"""Commands about the record: search and export, verify, anchor, capsules, retention, erasure."""
