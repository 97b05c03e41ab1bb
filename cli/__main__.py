"""`python -m cli`: what the launcher `./longhaul` runs."""

import sys

from cli.app import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
