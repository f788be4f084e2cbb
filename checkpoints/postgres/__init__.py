"""How statements travel to PostgreSQL and rows come back; knows no table."""
