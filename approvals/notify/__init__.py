"""Notifications: endpoints that want news, and its delivery by mail, chat and webhook."""
