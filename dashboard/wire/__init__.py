"""Short messages over Valkey: hints, progress and their topics."""
