"""`python -m bench.many`."""

import sys

from bench.many.run import main

sys.exit(main(sys.argv[1:]))
