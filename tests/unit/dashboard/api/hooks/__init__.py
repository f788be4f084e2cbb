"""Inbound hooks: deliveries, changes by admins, the document and the how-to."""
