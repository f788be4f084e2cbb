"""PostgreSQL and Valkey from wheels, and the supervisor of all parts on one machine."""
