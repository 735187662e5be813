"""``python -m unslow`` is the same as ``unslow``."""

from unslow.cli.main import main

if __name__ == "__main__":
    main()
