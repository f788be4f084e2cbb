"""People and programs that act at the same moment, or while a worker works or is gone."""
