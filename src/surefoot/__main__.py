"""`python -m surefoot`: the command line."""

from surefoot.cli.main import main

main()
