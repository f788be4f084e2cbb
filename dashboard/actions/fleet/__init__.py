"""Actions on many threads at once, incidents, devices, saved views."""
