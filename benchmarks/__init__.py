"""Measurements behind the claims of the README: accuracy against the theoretical limit, speed as ratios, memory."""
