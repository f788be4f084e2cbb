"""Erasure of content: requested, approved by a second person, carried out; legal holds stop it."""
