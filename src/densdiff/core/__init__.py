"""The mathematics: arrays in, arrays out; no validation, no files, no global randomness."""
