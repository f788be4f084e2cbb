"""Every number of a page, computed another way by plain SQL."""
