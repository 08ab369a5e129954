"""The language in Python: expressions, types, text, visitors, and the objects that passes are made of."""
