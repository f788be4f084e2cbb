"""Sign-ins: which browsers a person is signed in with, since when; ended by name."""
