"""Programs that the command line runs in a separate Python process; none imports the package."""
