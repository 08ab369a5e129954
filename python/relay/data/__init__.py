"""Arrays and values that programs take and return."""
