"""Pages under a name: the addresses of a board and of a question to the record, and saved views."""
