"""What a request demands, whose votes count, and which proposal they bind; pure."""
