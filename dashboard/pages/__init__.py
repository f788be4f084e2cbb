"""Contents of the pages, read and arranged for templates."""
