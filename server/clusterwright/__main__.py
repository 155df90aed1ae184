"""`python -m clusterwright`: the same as the `clusterwright` command."""

from clusterwright.cli import main

main()
