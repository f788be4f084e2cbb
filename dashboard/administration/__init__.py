"""What admins set, one module a setting: its input, what changes it, its call, command and page."""
