"""``python -m densdiff`` is the command ``densdiff``."""

from densdiff.cli import app

if __name__ == "__main__":
    app(prog_name="densdiff")
