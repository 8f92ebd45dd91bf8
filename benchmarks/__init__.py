"""Measurements behind docs/benchmarks.md: accuracy against the theoretical limit, speed as ratios, memory."""
