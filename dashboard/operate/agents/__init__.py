"""Commands about agents: what is announced, checked and installed; folders that are watched."""
