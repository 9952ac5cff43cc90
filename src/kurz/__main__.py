"""`python -m kurz` and the `kurz` command."""

from kurz.cli.app import main

if __name__ == "__main__":
    main()
