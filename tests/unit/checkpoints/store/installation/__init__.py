"""What is written about the installation: workspaces and the sweep."""
