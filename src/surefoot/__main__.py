"""`python -m surefoot`: the command line."""

from surefoot.cli.start import main

main()
