"""Which threads a list, a board or a selection is about: query language, filters, their SQL."""
