"""`python -m offrecord` is the command line."""

from offrecord.cli import main

main()
