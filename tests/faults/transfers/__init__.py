"""Large files, large capsules and bodies that nobody asked for."""
