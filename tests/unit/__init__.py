"""Tests of one room, in folders of the names of the product."""
