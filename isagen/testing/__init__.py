"""Runs tests at each level: `isagen test` runs a command once per level, the pytest plugin each test."""
