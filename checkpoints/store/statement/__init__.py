"""The one statement that changes a thread: its text, guards and announcements."""
