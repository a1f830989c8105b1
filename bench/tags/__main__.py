"""python -m bench.tags"""

import sys

from bench.tags.run import main

if __name__ == "__main__":
    sys.exit(main())
