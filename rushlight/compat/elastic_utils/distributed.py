"""`torch.distributed.elastic.utils.distributed`: a port that is free, and a socket on one."""

from __future__ import annotations

import socket
from contextlib import closing


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a port that was free."""
    found = socket.create_server(("localhost", 0), backlog=0)
    return found


def get_free_port() -> int:
    """A port that is free now."""
    with closing(get_socket_with_port()) as found:
        return int(found.getsockname()[1])
