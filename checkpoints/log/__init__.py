"""What an event records of the row that it names; pure."""
