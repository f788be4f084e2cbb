"""Exports of the record: rows in three forms, and the chains that prove them."""
