"""Graphs, trees, timelines and differences as data for templates; pure."""
