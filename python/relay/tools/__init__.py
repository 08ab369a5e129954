"""Programs that the command line runs in a separate Python process. They do not import the package."""
