"""Headless Chromium through its DevTools protocol, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

CHROMIUM = next(
    (path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None
)
PATIENCE_S = 30


class Browser:
    """One page. events: everything that the browser said without being asked."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="browser", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-port=0", f"--user-data-dir={self._folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._ids = 0
        self.events: list[dict] = []
        self._socket = self._connect()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def _connect(self) -> socket.socket:
        port_file = Path(self._folder.name) / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                port = int(port_file.read_text().splitlines()[0])
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=5) as answer:
                    targets = json.load(answer)
                url = next(one for one in targets if one["type"] == "page")["webSocketDebuggerUrl"]
            except (OSError, IndexError, StopIteration, ValueError):
                time.sleep(0.05)
            else:
                break
        else:
            raise TimeoutError("the browser did not start")
        connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(
            f"GET {url.split(str(port), 1)[1]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        answered = b""
        while b"\r\n\r\n" not in answered:
            answered += connection.recv(1)
        return connection

    def call(self, method: str, **parameters: object) -> dict:
        """The result of one command."""
        self._ids += 1
        self._send(json.dumps({"id": self._ids, "method": method, "params": parameters}).encode())
        while True:
            message = json.loads(self._frame())
            if message.get("id") == self._ids:
                return message.get("result", message)
            self.events.append(message)

    def _send(self, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = bytes([0x81, 0x80 | size])
        elif size < 65536:
            head = bytes([0x81, 0x80 | 126]) + struct.pack(">H", size)
        else:
            head = bytes([0x81, 0x80 | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        self._socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def _frame(self) -> bytes:
        whole = b""
        while True:
            first, second = self._read(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self._read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._read(8))[0]
            whole += self._read(size)
            if first & 0x80:
                return whole

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self._socket.recv(size - len(data))
        return data

    def open(self, url: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """The page is loaded in a window of this size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + PATIENCE_S
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            if time.monotonic() > deadline:
                raise TimeoutError(url)
            time.sleep(0.05)

    def resize(self, width: int, height: int = 800) -> None:
        """The window has another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def run(self, expression: str) -> object:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key is pressed and let go."""
        codes = {"Tab": 9, "Escape": 27, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key]
            )

    def close(self) -> None:
        """The browser has ended and left nothing behind."""
        self._socket.close()
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        deadline = time.monotonic() + PATIENCE_S
        while Path(self._folder.name).exists() and time.monotonic() < deadline:
            shutil.rmtree(self._folder.name, ignore_errors=True)  # its helpers may still write for a moment
        self._folder.cleanup()
