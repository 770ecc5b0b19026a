"""The server behind ``headway watch``: one page, its events, and the same numbers for machines.

It listens on the loopback address and answers only those who ask for it by that name, so that a
page of somebody else's, open in the same browser, cannot read it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from headway.engine.live_state import EVERY_S, LiveState
from headway.errors import InputError
from headway.report.watch_page import prometheus

MOST_WATCHERS = 32
"""pages that get events; more are refused"""
_NAMES = ("127.0.0.1", "localhost", "[::1]")


class Watched(Protocol):
    """A run that can be looked at; ``silence`` is how long (s) nothing new has come of one that
    should be running."""

    @property
    def silence(self) -> float: ...
    def look(self) -> LiveState: ...


class Latest:
    """Looks twice a second, for all who watch; each waits for the next state."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._news = threading.Condition()
        self._number = 0
        self.state = watched.look()
        self.silence = 0.0
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watch", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self.over.wait(EVERY_S):
            state, silence = self._watched.look(), self._watched.silence
            with self._news:
                self.state, self.silence = state, silence
                self._number += 1
                self._news.notify_all()

    def next(self, after: int, timeout: float) -> tuple[int, LiveState]:
        """The number of the state and the state: one later than ``after``, or the same when time is
        up."""
        with self._news:
            self._news.wait_for(lambda: self._number > after, timeout)
            return self._number, self.state

    def close(self) -> None:
        self.over.set()
        self._thread.join()


class WatchServer:
    """``port`` 0 takes any that is free. InputError where it is taken."""

    def __init__(self, latest: Latest, page: str, port: int) -> None:
        handler = _handler(latest, page)
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError as error:
            want = "choose another --port, or 0 for any"
            raise InputError(
                "the port cannot be used", at="--port", got=f"{port}: {error.strerror}", want=want
            ) from None
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def serve(self) -> None:
        """Until :meth:`stop`, which another thread or a signal's handler calls."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def health(latest: Latest) -> tuple[HTTPStatus, str]:
    """Whether the run goes on, in one word, and since when not."""
    if latest.silence:
        return HTTPStatus.SERVICE_UNAVAILABLE, f"no news for {latest.silence:.0f} s\n"
    if not latest.state.running:
        return HTTPStatus.SERVICE_UNAVAILABLE, "ended\n"
    return HTTPStatus.OK, "running\n"


def _handler(latest: Latest, page: str) -> type[BaseHTTPRequestHandler]:
    places = threading.BoundedSemaphore(MOST_WATCHERS)

    class Handler(BaseHTTPRequestHandler):
        timeout = 30
        server_version = "Headway"
        sys_version = ""

        def do_GET(self) -> None:
            if self.headers.get("Host", "").rpartition(":")[0] not in _NAMES:
                self._answer(HTTPStatus.FORBIDDEN, "text/plain", "ask by the name localhost\n")
                return
            answers: dict[str, Callable[[], None]] = {
                "/": lambda: self._answer(HTTPStatus.OK, "text/html", page),
                "/events": self._events,
                "/state.json": lambda: self._answer(
                    HTTPStatus.OK, "application/json", json.dumps(latest.state.data(), indent=1)
                ),
                "/metrics": lambda: self._answer(
                    HTTPStatus.OK, "text/plain; version=0.0.4", prometheus(latest.state)
                ),
                "/health": lambda: self._answer(health(latest)[0], "text/plain", health(latest)[1]),
            }
            answer = answers.get(self.path.partition("?")[0])
            if answer is None:
                known = ", ".join(answers)
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", f"there is {known}\n")
                return
            answer()

        def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def _events(self) -> None:
            if not places.acquire(blocking=False):
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", "too many watch\n")
                return
            try:
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                number = -1
                while not latest.over.is_set():
                    number, state = latest.next(number, timeout=5.0)
                    self._send("message", json.dumps(state.data(), separators=(",", ":")))
                    if latest.silence:
                        self._send("gone", f"no news for {latest.silence:.0f} s")
            except OSError:  # whoever watched has gone
                return
            finally:
                places.release()

        def _send(self, event: str, data: str) -> None:
            self.wfile.write(f"event: {event}\ndata: {data}\n\n".encode())
            self.wfile.flush()

        def log_message(self, format: str, *arguments: object) -> None:
            """Not on the terminal, where the numbers are."""

    return Handler
