"""Examples of each command, for its help text; the tests parse them."""

EXAMPLES = """\
isagen init  # set up the project in this folder, or update isagen's files in it
isagen init --name fastsum new  # make a project in the new folder `new`, whose package is called fastsum
isagen doctor  # check the project in this folder
isagen doctor ../fastsum  # check the project in another folder
isagen matrix build  # what a build folder builds, and why not the rest
isagen matrix fastdot  # what the installed package fastdot was built with
isagen matrix --format html -o matrix.html build  # a page for a browser, with the hot loops of a build folder
isagen matrix --format csv -o m.csv a.whl b.whl  # for a spreadsheet
isagen why AMX fastdot  # why AMX does not run here
isagen why AVX512 kernels/dot.cpp build  # why one kernel has no copy for AVX512
isagen diff fastdot-1.0.whl fastdot-1.1.whl  # what another release contains
isagen diff build-gcc build-clang  # what another compiler builds
isagen report fastdot  # the installed package; its modules are imported, each in a process of its own
isagen report build -o report.md  # a build folder; nothing is imported
isagen test -- pytest  # the tests at every level of the build folder `build`
isagen test --of fastdot --levels AVX2,AVX512 -- pytest tests  # at two levels of the installed package fastdot
isagen tune fastdot -- python bench.py  # which levels of the installed package fastdot pay for their bytes
isagen tune build --save zen5.json -- build/bench  # which levels of a build folder pay; write the times to a file
isagen tune --merge zen5.json build -- build/bench  # which levels pay on neither machine
isagen probe  # the levels that c++ can build
isagen probe --compiler clang-16 --language c  # the levels that clang-16 can build in C
isagen probe -- -m32  # the levels that c++ can build with an argument of the project
isagen cpu  # the level that runs here, and what CPU and OS lack for others
isagen cpu --features  # the features that CPU and OS have
isagen audit build  # what a build folder of isagen links
isagen audit --summary wheelhouse  # a line for each wheel
isagen audit --allow ours.toml --format json *.whl  # for a program; ours.toml lists findings that are no fault
isagen demo  # build a small project in a temporary folder and compare its levels
isagen demo --keep trial  # build and compare it in the folder trial, which stays
"""


def examples_of(command: str) -> list[str]:
    """Return the examples of a command, each with its effect behind a `#`."""
    return [line for line in EXAMPLES.splitlines() if f"isagen {command}" in line]


def examples_text(command: str) -> str:
    """Return the examples of a command as the end of its help text."""
    lines = (f"  {example}".replace("  # ", "\n      ") for example in examples_of(command))
    return "\n".join(["examples:", *lines])
