"""Values that are stored as ciphertext: keys, the one way in and out, and the columns."""
