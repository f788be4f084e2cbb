"""Commands of `manage.py`; Django looks for them here."""
