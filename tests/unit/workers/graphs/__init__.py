"""Small agents that tests of the working floor play."""
