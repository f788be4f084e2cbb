"""Identity and rights of people: logins, tokens, roles, limits."""
