"""Sending anchors to places that the operator does not own, and alarms when none arrives."""
