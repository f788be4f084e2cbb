"""Writes that concern the installation: sweeps, workspaces, agents, imports, verifications."""
