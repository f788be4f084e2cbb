"""What happens around a login: its begin and end, its confirmation, the workspace of its pages."""
