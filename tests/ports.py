"""Ports that stay free between the moment they are chosen and the moment a server takes them."""

import random
import socket

_OWN = range(20_000, 32_000)
"""Below those that Linux gives to whoever connects: a server that is away for a moment would lose
one of those, or a client could meet itself there."""


def free_port() -> int:
    """One that nobody listens on, chosen at random since other tests choose at the same time."""
    chance = random.SystemRandom()
    while True:
        port = chance.choice(_OWN)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
