"""Actions of auditors: query the record, take answers away, read the basis of a decision."""
