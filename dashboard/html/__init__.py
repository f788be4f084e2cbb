"""Graphs, trees, timelines and differences as data for templates, and the tags that draw them."""
