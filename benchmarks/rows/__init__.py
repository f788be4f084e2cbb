"""One module per row; each has `measure(bench, scale) -> Measured`."""
