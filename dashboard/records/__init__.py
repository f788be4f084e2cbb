"""The admin site: the auditors' records and the settings that admins change."""
