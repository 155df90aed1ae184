"""Messages on a stream socket: a JSON header and raw bytes, each with its length in front. Nothing is unpickled."""

import json
import socket
import struct
from typing import Any

_LENGTHS = struct.Struct("!IQ")


def send(connection: socket.socket, header: dict[str, Any], payload: bytes = b"") -> None:
    """Send one message."""
    text = json.dumps(header).encode()
    connection.sendall(_LENGTHS.pack(len(text), len(payload)) + text + payload)


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Wait for one message.

    Raises:
        EOFError: the other side closed the connection.
    """
    header_length, payload_length = _LENGTHS.unpack(_exactly(connection, _LENGTHS.size))
    header: dict[str, Any] = json.loads(_exactly(connection, header_length))
    return header, _exactly(connection, payload_length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        part = connection.recv(min(1 << 20, length - len(received)))
        if not part:
            raise EOFError("the other side closed the connection")
        received += part
    return bytes(received)
