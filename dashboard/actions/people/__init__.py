"""Accounts, roles, sign-ins and deputies of people: what admins change and what each does alone."""
