import os

# What is tested is compiled, not found in the cache of whoever runs the tests. test_cache.py names one of its own.
os.environ["RELAY_CACHE"] = "off"
