"""Anchors that go out: ends of logs, chained, and how far each destination has them."""
