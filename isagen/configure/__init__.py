"""The command that the Meson fragment runs: it probes compilers, plans, and writes the files that the build needs."""
