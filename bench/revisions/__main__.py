"""python -m bench.revisions"""

import sys

from bench.revisions.run import main

if __name__ == "__main__":
    sys.exit(main())
