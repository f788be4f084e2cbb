"""Commands about the whole fleet: decide, limit, stop, connect, and the policies for it."""
