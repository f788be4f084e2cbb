"""What a change would do, computed before it is made; reads only."""
