"""Agents that start others, in several worker processes, killed at any place."""
