"""`python -m eddyline`."""

from eddyline.cli.main import main

main()
