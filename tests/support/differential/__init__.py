"""Differential tests: random projects, built by isagen's own steps, run under a machine that records what runs."""
