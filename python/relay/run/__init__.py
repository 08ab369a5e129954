"""Compiled programs, and the executors that run them."""
