"""One file for each measurement; the registry finds them."""
