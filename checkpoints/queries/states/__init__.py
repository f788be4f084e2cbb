"""The state at any checkpoint, from keyframes and deltas."""
