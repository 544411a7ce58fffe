"""A cache of JSON values across builds: one small file per key, written atomically, as builds may run in parallel."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ..model.files import content_digest, write_atomically


class Cache:
    """A folder of JSON files. Failing to read or write one is no error. Without a folder, nothing is cached."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @staticmethod
    def key(inputs: Any) -> str:
        """Return the cache key of the value that is computed from `inputs`, plain JSON data."""
        return content_digest(json.dumps(inputs, sort_keys=True).encode())

    def get(self, key: str) -> Any:
        """Return the cached value under `key`, or None."""
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Cache a `value` (plain JSON data) under `key`."""
        if self._folder is not None:
            data = json.dumps(value, indent=1, sort_keys=True).encode()
            with contextlib.suppress(OSError):
                write_atomically(self._folder / f"{key}.json", data)


def default_cache() -> Cache:
    """Return the user's cache (``~/.cache/isagen/probes`` on Linux)."""
    return Cache(user_cache_path("isagen") / "probes")


NO_CACHE = Cache(None)
