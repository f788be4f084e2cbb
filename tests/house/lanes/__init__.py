"""The commands that `make check` runs tests by."""
