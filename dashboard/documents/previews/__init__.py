"""Previews of files: what a page may show of their bytes, decided by the bytes themselves."""
