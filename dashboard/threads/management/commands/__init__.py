"""One module per command of `manage.py`; the work is done in the room above."""
