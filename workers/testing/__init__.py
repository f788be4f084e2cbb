"""The author's test bench: the same engine and store, on a database that ends with the tests."""
