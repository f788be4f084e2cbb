"""The HTTP edge: request handling, body limits, middleware, access log."""
