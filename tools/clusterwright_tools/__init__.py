"""Measurements for machine-learning nodes and clusters.

This package imports with the standard library and click alone; torch and everything else is imported inside the
function that uses it, so that it runs in a bare training environment, from source, from a wheel or as a zipapp.
"""

__version__ = "0.1.0"
