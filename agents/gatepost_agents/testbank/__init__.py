"""A bank for trials and tests: a process of its own that knows nothing of Gatepost.

Standard library only; `python -m gatepost_agents.testbank --help` says how it is started. Its
ledger is a file of JSON lines that anybody can read and judge by.
"""
