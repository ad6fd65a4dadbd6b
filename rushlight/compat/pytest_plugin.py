"""A pytest plugin: `pytest -p rushlight.compat.pytest_plugin` collects and runs tests with `torch` meaning rushlight.

pytest imports the plugins named by `-p` before it collects anything, so the alias stands before the first test file
is imported. It stays for the whole run, as an `import torch` in a test does, and processes that tests start find it, too.
"""

import os
import sys

from .alias import install
from .distribution import children_find_it

install()
children_find_it(os.environ, sys.path)
