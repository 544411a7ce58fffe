class Isa:
    """The CPU levels of this module's kernels.

    current, highest_cpu, highest_binary   the level in use, the best that CPU and OS support, the best that is built
    levels    {level: (built, supported, missing features)}, lowest level first
    kernels   {stub: {level: "selected", "registered" or ""}}
    why(LEVEL)             one sentence: why the level is or is not in use
    with use(LEVEL): ...   switches every stub to a level, for tests and benchmarks; no other thread may call a kernel
    """

    current = property(lambda self: current())
    highest_cpu = property(lambda self: highest_cpu())
    highest_binary = property(lambda self: highest_binary())

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
            for stub, selected, registered in stubs()
        }

    def why(self, level):
        name = str(level).upper()
        if name not in self.levels:
            raise ValueError(f"{level!r} is not a level; levels: {', '.join(self.levels)}")
        built, supported, missing = self.levels[name]
        if name == self.current:
            return f"{name} is in use"
        if not built:
            return f"{name} is not built; the build matrix says why"
        if not supported:
            return f"{name} needs features that CPU or OS lack: {missing}"
        return f"{name} is built and supported, but {self.current} is preferred or asked for"

    def use(self, level):
        return Use(level)

    def __repr__(self):
        return f"<isa: {self.current} in use, CPU supports {self.highest_cpu}, built up to {self.highest_binary}>"


class Use:
    chosen = [None]

    def __init__(self, level):
        name = str(level).upper()
        if name not in Isa().levels:
            raise ValueError(f"{level!r} is not a level; levels: {', '.join(Isa().levels)}")
        self.level = name

    def __enter__(self):
        use(self.level)
        self.chosen.append(self.level)
        return self

    def __exit__(self, *unused):
        self.chosen.pop()
        use(self.chosen[-1])


isa = Isa()
