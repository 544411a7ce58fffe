"""How names of CPU features are compared."""


def normal(name: str) -> str:
    """Return a feature's name as it is compared: ``AVX512F`` and ``avx512_f`` are one."""
    return name.lower().replace("_", "")
