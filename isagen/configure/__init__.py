"""Configuring: what the Meson fragment calls. It probes, plans, and writes what the build needs."""
