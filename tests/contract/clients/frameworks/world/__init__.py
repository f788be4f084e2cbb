"""The world that the scripts of the tests act on."""
