"""How Gatepost is reached: calls of its API as flows, performed by two transports."""
