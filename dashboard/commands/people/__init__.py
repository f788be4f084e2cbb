"""Commands about people: accounts, roles, tokens, workspaces, deputies, what each one watches."""
