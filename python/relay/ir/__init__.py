"""The language: expressions, types, text, visitors, passes as objects."""
