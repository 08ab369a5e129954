"""Parts that importers written in Python share: the reasons and places of problems, and the provenance of calls."""
