import socket
import threading

import pytest

from clusterwright.retrieval import wire


def test_a_message_arrives_whole_however_it_is_cut() -> None:
    one, other = socket.socketpair()
    payload = bytes(range(256)) * 20_000  # more than a socket buffer holds
    with one, other:
        sender = threading.Thread(target=wire.send, args=(one, {"texts": ["显存"]}, payload))
        sender.start()
        assert wire.receive(other) == ({"texts": ["显存"]}, payload)
        sender.join()


def test_a_connection_that_ends_in_the_middle_is_an_end() -> None:
    one, other = socket.socketpair()
    with other:
        with one:
            one.sendall(b"\0\0\0")
        with pytest.raises(EOFError):
            wire.receive(other)
