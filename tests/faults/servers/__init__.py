"""PostgreSQL and Valkey away, frozen, restarted or cut off, and whole fleets."""
