"""Django's PostgreSQL backend with a bound on how long an answer is waited for."""
