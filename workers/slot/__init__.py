"""The worker's processes: claim, heartbeat, sweep, canary, losses."""
