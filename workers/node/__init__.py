"""What `ctx` is made of: activities, effects, gates, cursors, reuse."""
