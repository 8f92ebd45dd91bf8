"""The questions a person asks of two samples, one file each."""
