"""A second factor beside the password: codes of an authenticator app, and recovery codes."""
