"""Files of allowances: what an entry may say, what it allows, and errors."""

import pytest

from isagen.audit.allowances import read_allow_files, unused, uses, without_allowed
from isagen.audit.findings import Entry, Finding, Result
from isagen.model.errors import AuditError

REASON = 'reason = "cpuid.c asks"'


def read(folder, text, name="allow.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_allow_files([path])


def allowed(entries, *findings, target="w-1.0.whl/numpy/_core/x.so"):
    """Return the symbols of the findings that entries allow."""
    result = without_allowed(Result(target, "", tuple(findings)), entries)
    found = [finding.symbol for _, covered in result.excused for finding in covered]
    assert sorted(found + [f.symbol for f in result.findings]) == sorted(f.symbol for f in findings)
    return found


def entry(**keys):
    return Entry("allow.toml", 0, "why", **keys)


def test_entries(tmp_path):
    text = f"""
    [[allow]]
    symbol = "f*"
    {REASON}
    [[allow]]
    file = "*.so"
    symbol = "g"
    kind = " Load"
    {REASON}
    [[allow]]
    file = "libs/*.so"
    kind = ["load", "bindable", "load"]
    {REASON}
    """
    path = str(tmp_path / "allow.toml")
    assert read(tmp_path, text) == (
        Entry(path, 0, "cpuid.c asks", symbol="f*"),
        Entry(path, 1, "cpuid.c asks", "*.so", "g", ("load",)),
        Entry(path, 2, "cpuid.c asks", "libs/*.so", "", ("load", "bindable")),
    )
    assert read(tmp_path, "") == ()


def test_a_file_that_is_given_twice_is_read_once(tmp_path):
    (one,) = read(tmp_path, f'[[allow]]\nsymbol = "f"\n{REASON}')
    (tmp_path / "b.toml").write_text(f'[[allow]]\nsymbol = "g"\n{REASON}')
    paths = [tmp_path / "allow.toml", tmp_path / "b.toml", tmp_path / "allow.toml"]
    assert [entry.symbol for entry in read_allow_files(paths)] == [one.symbol, "g"]


@pytest.mark.parametrize(
    ("text", "key", "message", "remedy"),
    [
        (f"[[audit.allow]]\n{REASON}", "audit", "unknown key", "known: allow"),
        (f"[allow]\n{REASON}", "allow", "must be an array of tables", ""),
        ("allow = [1]", "allow", "must be an array of tables, but contains 1", "write [[allow]]"),
        (f'[[allow]]\nsymbl = "f"\n{REASON}', "allow[0].symbl", "unknown key", "did you mean 'symbol'?"),
        ('[[allow]]\nsymbol = "f"', "allow[0].reason", "is missing", "give it as a string"),
        ('[[allow]]\nsymbol = "f"\nreason = " "', "allow[0].reason", "is empty", "say why"),
        (f"[[allow]]\nsymbol = 1\n{REASON}", "allow[0].symbol", "must be a string, not 1", ""),
        (f'[[allow]]\nsymbol = ""\n{REASON}', "allow[0].symbol", "is empty", "or leave the key out"),
        (f'[[allow]]\nsymbol = "f"\nfile = ""\n{REASON}', "allow[0].file", "is empty", "or leave the key out"),
        (f'[[allow]]\nsymbol = "f"\nkind = []\n{REASON}', "allow[0].kind", "is empty", "or leave the key out"),
        (f'[[allow]]\nsymbol = "f"\nkind = "lod"\n{REASON}', "allow[0].kind", "'lod'", "did you mean 'load'?"),
        (f'[[allow]]\nsymbol = "f"\nkind = [1]\n{REASON}', "allow[0].kind", "must be a list of strings", ""),
        (f'[[allow]]\nfile = "a.so"\nsymbol = "*"\n{REASON}', "allow[0].symbol", "allows every function", "`file`"),
        (f"[[allow]]\n{REASON}", "allow[0].symbol", "is missing", "name functions, or files"),
        (f'[[allow]]\nfile = "*/*"\n{REASON}', "allow[0].symbol", "is missing", "name functions, or files"),
        ("[[allow", "", "is not valid TOML", ""),
    ],
)
def test_one_clear_error(tmp_path, text, key, message, remedy):
    with pytest.raises(AuditError) as caught:
        read(tmp_path, text)
    error = caught.value
    assert error.where == f"{tmp_path / 'allow.toml'}" + (f": {key}" if key else "")
    assert message in error.message
    assert remedy in error.remedy


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(AuditError, match=r"gone\.toml: cannot be read: No such file"):
        read_allow_files([tmp_path / "gone.toml"])


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("x.so", True),
        ("*.so", True),
        ("numpy/_core/x*.so", True),
        ("_core/?.so", True),
        ("w-*.whl/numpy/*", True),
        ("ore/x.so", False),
        ("numpy/_core", False),
        ("y.so", False),
    ],
)
def test_a_file_s_pattern_matches_the_end_of_its_path(pattern, matched):
    assert bool(allowed([entry(file=pattern)], Finding("load", "f"))) == matched


def test_symbols_as_the_linker_or_as_c_plus_plus_writes_them():
    findings = [Finding("load", "_Z3sumPKfm"), Finding("load", "f.avx2.7"), Finding("load", "g")]
    assert allowed([entry(symbol="_Z3sum*")], *findings) == ["_Z3sumPKfm"]
    assert allowed([entry(symbol="sum(float const*, *)")], *findings) == ["_Z3sumPKfm"]
    assert allowed([entry(symbol="f")], *findings) == ["f.avx2.7"]


def test_kinds():
    findings = [Finding("load", "f"), Finding("bindable", "g"), Finding("past", "h")]
    assert allowed([entry(symbol="?", kinds=("load", "past"))], *findings) == ["f", "h"]


def test_functions_without_names_are_allowed_only_where_a_pattern_asks_for_them():
    nameless = Finding("load", "function at 0x14ed7d")
    for pattern in ("f*", "*n*", "*14ed7d", "?unction at 0x14ed7d"):
        assert allowed([entry(symbol=pattern)], nameless) == []
    for pattern in ("function at 0x14ed7d", "function at 0x14*"):
        assert allowed([entry(symbol=pattern)], nameless) == [nameless.symbol]
    assert allowed([entry(file="x.so")], nameless) == [nameless.symbol]


def test_what_entries_were_used_for():
    first = Entry("a.toml", 0, "why", symbol="f*")
    second = Entry("a.toml", 1, "why", symbol="fg")
    third = Entry("a.toml", 2, "why", file="y.so", kinds=("load",))
    fourth = Entry("a.toml", 3, "why", file="x.so", symbol="h")
    entries = [first, second, third, fourth]
    findings = tuple(Finding("load", name) for name in ("f", "fg", "i"))
    result = without_allowed(Result("w.whl/x.so", "", findings), entries)
    assert [finding.symbol for finding in result.findings] == ["i"]
    assert [(covered.number, len(findings)) for covered, findings in result.excused] == [(0, 2)]
    assert (uses(first, [result]), uses(third, [result])) == ((1, 2), (0, 0))
    assert unused(entries, [result]) == [
        "a.toml: allow[1]: fg: allows nothing: no finding matches, or an earlier entry allows it; remove the entry",
        "a.toml: allow[2]: every function in y.so (load): no file of that name was audited",
        "a.toml: allow[3]: h in x.so: allows nothing: no finding matches, or an earlier entry allows it; "
        "remove the entry",
    ]


def test_what_was_not_audited_is_for_no_entry():
    one = entry(file="x.a")
    result = without_allowed(Result("x.a", "not audited", decoded=False), [one])
    assert unused([one], [result]) == ["allow.toml: allow[0]: every function in x.a: no file of that name was audited"]
