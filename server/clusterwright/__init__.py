"""Clusterwright: a knowledge base for machine-learning engineering that measures."""

__version__ = "0.1.0"
