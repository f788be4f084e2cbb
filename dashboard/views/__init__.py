"""Page views: request in, page or region out."""
