"""`torch` means rushlight: importing this package installs the alias, which takes the place of this very module."""

import sys
from pathlib import Path

LOCATION = Path(__file__).resolve().parents[4]  # where rushlight is, if it is not installed

try:
    from rushlight import compat
except ModuleNotFoundError as error:
    if error.name != "rushlight" or LOCATION is None:
        raise
    sys.path.append(str(LOCATION))
    from rushlight import compat

sys.modules.pop(__name__)
compat.install()
