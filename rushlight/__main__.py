"""`python -m rushlight`: see `rushlight.cli`."""

import sys

from .cli import main

sys.exit(main())
