"""A login: its begin and end, its confirmation, its second factor."""
