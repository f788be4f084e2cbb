"""What a state is: values, deltas, channels, digests and schema versions; pure."""
