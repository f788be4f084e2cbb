"""Every place where somebody can change something, and who may."""
