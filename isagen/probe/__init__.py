"""Probes compilers: which levels each can build, and which features the flags of a level turn on."""
