"""How rows become sums of kernel features; the only place that knows how large the data are."""
