"""Examples of each command, for its help text; the tests parse them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# By command: (command line, its effect). A command whose parser has an epilog needs none here.
EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "init": (
        ("isagen init", "set up the project in this folder, or update isagen's files in it"),
        ("isagen init --name fastsum new", "make a project in the new folder `new`, whose package is called fastsum"),
    ),
    "doctor": (
        ("isagen doctor", "check the project in this folder"),
        ("isagen doctor ../fastsum", "check another one"),
    ),
    "matrix": (
        ("isagen matrix build", "what a build folder builds, and why not the rest"),
        ("isagen matrix fastdot", "what the installed package fastdot was built with"),
        (
            "isagen matrix --format html -o matrix.html build",
            "a page for a browser, with the hot loops of a build folder",
        ),
        ("isagen matrix --format csv -o m.csv a.whl b.whl", "for a spreadsheet"),
    ),
    "why": (
        ("isagen why AMX fastdot", "why AMX does not run here"),
        ("isagen why AVX512 kernels/dot.cpp build", "why one kernel has no copy for it"),
    ),
    "diff": (
        ("isagen diff fastdot-1.0.whl fastdot-1.1.whl", "what another release contains"),
        ("isagen diff build-gcc build-clang", "what another compiler builds"),
    ),
    "report": (
        ("isagen report fastdot", "the installed package; its modules are imported, each in a process of its own"),
        ("isagen report build -o report.md", "a build folder; nothing is imported"),
    ),
    "tune": (
        ("isagen tune fastdot -- python bench.py", "which levels of the installed package fastdot pay for their bytes"),
        ("isagen tune build --save zen5.json -- build/bench", "the same of a build folder; keep the times"),
        (
            "isagen tune --merge zen5.json --write isagen/isa.toml build -- build/bench",
            "with another machine's times; take levels that pay on neither out of isa.toml",
        ),
    ),
    "probe": (
        ("isagen probe", "the levels that c++ can build"),
        ("isagen probe --compiler clang-16 --language c", "those of another compiler, and of C"),
        ("isagen probe -- -m32", "with an argument of the project"),
    ),
    "cpu": (
        ("isagen cpu", "the level that runs here, and what CPU and OS lack for others"),
        ("isagen cpu --features", "the features that CPU and OS have"),
    ),
    "demo": (
        ("isagen demo", "build a small project in a temporary folder and compare its levels"),
        ("isagen demo --keep trial", "the same in the folder trial, which stays"),
    ),
    "completion": (
        ('eval "$(isagen completion bash)"', "in ~/.bashrc"),
        ('eval "$(isagen completion zsh)"', "in ~/.zshrc, after compinit"),
        ("isagen completion fish | source", "in ~/.config/fish/config.fish"),
    ),
}


def examples_text(command: str) -> str:
    """Return the examples of a command as the end of its help text; "" where it has none."""
    rows = EXAMPLES.get(command, ())
    return "examples:\n" + "\n".join(f"  {typed}\n      {does}" for typed, does in rows) if rows else ""
