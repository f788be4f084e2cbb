"""Pages of docs/howto whose commands need the whole product: they are run as they stand."""
