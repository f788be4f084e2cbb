"""What auditors do: ask the record, take answers away, read what stands behind a decision."""
