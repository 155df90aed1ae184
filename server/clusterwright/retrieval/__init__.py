"""Search over the chapters: a lexical and a dense index, fused, with whole sections as results."""
