"""People as a directory outside keeps them: arrivals by single sign-on, groups, leavers."""
