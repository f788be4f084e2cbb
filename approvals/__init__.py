"""Floor 1: stops, people and their verdicts."""
