"""Forms from JSON Schema: inputs, values and their faults."""
