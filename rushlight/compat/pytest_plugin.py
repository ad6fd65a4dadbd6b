"""A pytest plugin: `pytest -p rushlight.compat.pytest_plugin` collects and runs tests with `torch` meaning rushlight.

pytest imports the plugins named by `-p` before it collects anything, so the alias stands before the first test file
is imported. It stays for the whole run, as an `import torch` in a test does.
"""

from .alias import install

install()
