"""What the pages show, read and arranged for templates."""
