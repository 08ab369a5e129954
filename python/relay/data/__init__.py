"""Arrays and values: what goes into programs and what comes out."""
