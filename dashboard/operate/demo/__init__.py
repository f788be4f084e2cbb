"""The demo: shipped agents at work on their own data, and people who steer them."""
