"""The calls about inbound hooks: their decisions, and looking after them."""
