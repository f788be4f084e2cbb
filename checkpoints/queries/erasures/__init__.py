"""Erasure as pages and commands read it: what a request would touch, requests, holds and rules."""
