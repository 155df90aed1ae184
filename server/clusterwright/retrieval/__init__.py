"""Search over the chapters: a lexical and a dense index, fused, with whole sections as results."""

REBUILD = "rebuild it: clusterwright index build --force"
"""What every message about a damaged index ends with."""
