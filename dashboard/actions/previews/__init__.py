"""Previews of changes, computed before they are made; reads only."""
