"""A headless Chromium that tests drive through pipes, by the DevTools protocol: no driver and no port."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# What a browser does of its own accord is switched off: requests are then the page's.
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars"),
    "--remote-debugging-pipe",
)
# Starts the browser, which reads commands from descriptor 3 and writes to 4.
START = """
import os, sys
moved = [os.dup(os.dup(os.dup(os.dup(int(one))))) for one in sys.argv[1:3]]  # past 4
for to, one in zip((3, 4), moved):
    os.dup2(one, to)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 60  # seconds that one answer may take
# Virtual key codes, without which a page's default actions of keys do not happen.
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find_browser() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """A browser process; `profile` is a folder of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        command = [
            sys.executable,
            "-c",
            START,
            str(commands),
            str(answers),
            program,
            *FLAGS,
            f"--user-data-dir={profile}",
        ]
        self._process = subprocess.Popen(
            command, pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._write)  # which ends the browser
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def send(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Run a command and return its result; events that come before are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser ended"
            self._buffer += data
        raw, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(raw)

    def page(self, width: int = 1280, height: int = 800) -> "Page":
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, target, session, width, height)


class Page:
    """One tab, and what happened in it."""

    def __init__(self, browser: Browser, target: str, session: str, width: int, height: int) -> None:
        self._browser = browser
        self._target = target
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.size(width, height)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **parameters)

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)

    def media(self, media: str = "", **features: str) -> None:
        """Emulate a medium, or media features: prefers_color_scheme="dark"."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", media=media, features=named)

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file and wait until it is shown."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=path.as_uri() + fragment)
        end = time.monotonic() + PATIENCE
        while self.run("document.readyState") != "complete" or self.run("location.protocol") != "file:":
            assert time.monotonic() < end, "the page is not loaded"
            time.sleep(0.02)

    def run(self, code: str) -> Any:
        """Return the value of an expression of JavaScript, waiting for promises."""
        done = self.send("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str, modifiers: int = 0) -> None:
        text: Mapping[str, str] = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        same = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS.get(key, 0), "modifiers": modifiers}
        self.send("Input.dispatchKeyEvent", type="keyDown", **same, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **same)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def events(self, *methods: str) -> list[dict[str, Any]]:
        """Return what happened in this tab, of some kinds."""
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event["method"] in methods
        ]

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)
