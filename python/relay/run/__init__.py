"""Compiled programs and the executors."""
