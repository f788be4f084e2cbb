"""PostgreSQL and Valkey from wheels, and the supervisor that keeps all parts of one machine together."""
