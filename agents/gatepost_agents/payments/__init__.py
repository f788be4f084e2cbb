"""The agent that matches invoices with orders, checks them, and pays those that a person lets pass.

Everything but `agent` knows nothing of the engine: paths and JSON-safe values go in, JSON-safe
values come out. Amounts are decimal strings everywhere, and `Decimal` while they are added.
"""
