"""Vectors of memories: stores that search them, and the one that the settings name.

PostgreSQL is the home of every vector (`gp_memory_vector`); a store is filled from it.
"""
