"""`python -m absint`."""

from absint.cli import main

if __name__ == "__main__":
    main()
