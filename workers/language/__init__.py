"""Language models over HTTP: two wires, their transport, which one is asked, and what it costs."""
