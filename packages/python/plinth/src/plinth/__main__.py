"""`python -m plinth`."""

from plinth.launcher import main

main()
