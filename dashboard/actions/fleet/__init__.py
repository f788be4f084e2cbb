"""Budgets, devices, subscriptions to incidents, saved views."""
