"""`make interop`: each kind of agent starts, stops at a gate, dies and goes on elsewhere."""
