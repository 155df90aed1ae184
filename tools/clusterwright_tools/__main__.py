"""`python -m clusterwright_tools`, also under torchrun and in the zipapp."""

from clusterwright_tools.main import main

main()
