"""People: users, roles, tokens, workspaces, sign-in, second factor, the directory."""
