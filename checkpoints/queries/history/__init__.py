"""Readers of the history by its words: texts of events, and the events that have given words."""
