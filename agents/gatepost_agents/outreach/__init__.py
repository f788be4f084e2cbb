"""The agents that find companies in a table and write to them: a researcher and a writer.

`companies`, `drafts` and `mail` know nothing of the engine.
"""
