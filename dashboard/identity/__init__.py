"""Who somebody is and what they may do: logins, tokens, roles, limits."""
