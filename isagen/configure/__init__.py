"""Configuring, which the Meson fragment calls for: it probes, plans, and writes the files that the build needs."""
