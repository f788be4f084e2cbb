"""Pages of incidents and of what news people get."""
