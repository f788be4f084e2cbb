"""Parts of the board: its columns, lanes, activity and saved views."""
