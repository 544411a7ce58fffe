class Isa:
    """The CPU levels of this module's kernels.

    current, highest_cpu, highest_binary   the level in use, the best that CPU and OS support, the best that is built
    levels           {level: (built, supported, missing features)}, lowest level first
    kernels          {stub: {level: "selected", "registered" or ""}}
    override         the environment variable that narrows the level when the module is loaded; None if there is none
    matrix           the build matrix as a dict (docs/matrix.schema.json of isagen); None if the module contains none
    why(LEVEL)       one sentence: why the level is or is not in use
    why(STUB)        which level's copy the stub calls; STUB may lack _stub, or be the start of several stubs' names
    report()         a text for bug reports: module, levels, stubs, override, Python, machine; no user, host or path
    use(LEVEL)       switches every stub to a level at once, for tests and benchmarks; no other thread may call a kernel
    with use(LEVEL): ...   switches to a level until the block ends; a module that is a whole kernel cannot switch
    """

    current = property(lambda self: current())
    highest_cpu = property(lambda self: highest_cpu())
    highest_binary = property(lambda self: highest_binary())
    override = property(lambda self: override or None)

    @property
    def levels(self):
        return {name: (bool(built), bool(supported), missing) for name, built, supported, missing in levels()}

    @property
    def kernels(self):
        return {
            stub: {
                level: "selected" if level == selected else "registered" if level in registered else ""
                for level, *_ in levels()
            }
            for stub, selected, _, registered in stubs()
        }

    @property
    def matrix(self):
        import json
        import zlib

        text = matrix_text()
        return json.loads(zlib.decompress(text)) if text else None

    def why(self, level):
        """Return why a level is or is not in use, or which level's copy a stub calls."""
        if said := called(level):
            return said
        name = known(level, *stub_hint(level))
        built, supported, missing = self.levels[name]
        if name == self.current:
            return f"{name} is in use"
        if not built:
            return f"{name} is not built{reason(name)}"
        if not supported:
            return f"{name} needs features that CPU or OS lack: {missing}"
        best = [level for level, (built, supported, _) in self.levels.items() if built and supported][-1]
        if self.current == best:
            return f"{name} is built and supported, but {best} is preferred"
        return f"{name} is built and supported, but {'use()' if Use.chosen else variable()} asks for {self.current}"

    def report(self):
        """Return a text for a bug report, as Markdown."""
        import platform

        plan = planned()
        compilers = ", ".join(one["name"] for one in plan.get("compilers", {}).values())
        lines = [f"### {__name__}: {self.current} in use"]
        lines += [f"- built by: isagen {plan['isagen']}, {compilers}, table {plan['table']}"] if plan else []
        lines += [
            f"- override: {', '.join(map(override_text, overrides)) or 'there is none'}",
            *([f"- {warning}"] if warning else []),
            f"- OS: {platform.system()} {platform.release()}, {platform.machine()}",
            f"- Python: {platform.python_implementation()} {platform.python_version()}",
        ]
        lines += [f"- {self.why(level)}" for level in self.levels]
        lines += [f"- {stub}: {copy_text(selected, copy)}" for stub, selected, copy, _ in stubs()]
        return "\n".join(lines)

    def use(self, level):
        """Switch every stub to a level at once; in a `with` statement, switch back at the end."""
        return Use(level)

    def __repr__(self):
        return f"<isa: {self.current} in use, CPU supports {self.highest_cpu}, built up to {self.highest_binary}>"


class Use:
    """A level in use until the end of a `with` block, or for good."""

    chosen = None

    def __init__(self, level):
        self.level, self.before = known(level), Use.chosen
        self.switch()

    def switch(self):
        try:
            use(self.level)
        except RuntimeError as problem:
            raise RuntimeError(f"{problem}{'' if isa.levels[self.level][0] else reason(self.level)}") from None
        Use.chosen = self.level

    def __enter__(self):
        self.switch()
        return self

    def __exit__(self, *unused):
        use(self.before)
        Use.chosen = self.before

    def __repr__(self):
        return f"<isa: {self.level} in use>"


def called(name):
    every = [one[:3] for one in stubs()]
    found = [one for one in every if name in (one[0], one[0].removesuffix("_stub"))]
    if not found and str(name).upper() not in isa.levels:
        found = [one for one in every if one[0].startswith(f"{name}_")]
    return "; ".join(calls(*one) for one in found)


def calls(stub, level, copy):
    if not level:
        return f"{stub} has no kernel"
    why = f", because {level}'s has the same code" if copy != level else ""
    why += f", because it has none at {isa.current}" if level != isa.current and not why else ""
    return f"{stub} calls the copy of {copy}{why}"


def copy_text(level, copy):
    return f"{level} (the copy of {copy})" if copy != level else level or "no level"


def known(level, wrong="is not a level", hint=""):
    name = str(level).upper()
    if name not in isa.levels:
        raise ValueError(f"{level!r} {wrong}; levels: {', '.join(isa.levels)}{hint}")
    return name


def stub_hint(name):
    like = [stub for stub, *_ in stubs() if name and f"_{name}_" in f"_{stub}_"]
    few = f"stubs with this in their names: {', '.join(like)}" if 0 < len(like) <= 10 else "isa.kernels lists the stubs"
    return ("is neither a level nor a stub", f"; {few}") if stubs() else ()


def environment():
    import os

    return {one: os.environ.get(one, "") for one in overrides}


at_load = environment()


def variable():
    found = [one for one in overrides if at_load[one].strip()]
    return (found or overrides)[0]


def override_text(name):
    now, before = environment()[name], at_load[name]
    if now == before:
        return f"{name} = {now!r}" if now else f"{name} is not set"
    changed = f"set to {now!r}" if now else "unset"
    was = f"was {before!r}" if before else "was not set"
    return f"{name} {was} when the module was loaded; {changed} later, without effect"


def planned():
    try:
        return isa.matrix or {}
    except ImportError:  # a Python without zlib
        return {}


def reason(level):
    found = [one for one in planned().get("levels", ()) if one["name"] == level]
    return f": {found[0]['verdict']} {found[0]['reason']}" if found else ""


isa = Isa()
