"""Calls of auditors: questions to the record, exports, the report on a decision."""
