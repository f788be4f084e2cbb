"""Threads that start others: births of children, their ends as news, and what reaches a tree."""
