"""Fitted models: what learns sigma, lam and theta, and the results they give."""
