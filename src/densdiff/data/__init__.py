"""From what a user hands over to numbers: tables, kinds of columns, matched samples, checked parameters."""
