"""The deep research agent: what it reads, what it cites, and that a kill costs no note."""
