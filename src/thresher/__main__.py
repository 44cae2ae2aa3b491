"""``python -m thresher``."""

import sys

from thresher.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
