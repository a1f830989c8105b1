"""python -m bench.joins"""

import sys

from bench.joins.run import main

if __name__ == "__main__":
    sys.exit(main())
