"""Headrace's own HTTP servers on this machine: how Python starts each, and its health."""

from headrace.local.ports import HOST, PROTOCOL, answers

KEEP_ALIVE_SECONDS = 30
MAX_CONNECTIONS = 1000  # concurrent requests; further callers get a 503


class Server:
    """An ASGI application (`module:factory`), its health path, and its first port."""

    def __init__(self, application: str, health: str, first_port: int, *options: str) -> None:
        self.application = application
        self.health = health
        self.first_port = first_port
        self._options = options

    def command(self, port: int) -> list[str]:
        """Return the module and arguments with which Python serves it on this machine."""
        return [
            *("uvicorn", "--factory", self.application, "--host", HOST, "--port", str(port)),
            *("--http", PROTOCOL, "--log-level", "warning", "--no-access-log", *self._options),
        ]

    def is_up(self, port: int) -> bool:
        """Return True if it responds on this port, and can reach its database."""
        return answers(port, self.health)


SERVICE = Server(
    "headrace.service.server:application",
    "/health/ready",
    3200,
    *("--no-server-header", "--timeout-keep-alive", str(KEEP_ALIVE_SECONDS)),
    *("--limit-concurrency", str(MAX_CONNECTIONS)),
)
