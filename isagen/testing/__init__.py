"""Tests at each level: `isagen test` runs a command once per level, the pytest plugin runs each test once per level."""
