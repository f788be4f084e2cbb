"""Incidents: many alike troubles as one, and who hears of them by subscription."""
