"""Objects that sealing knows by their answers: how many are in memory, and what is asked again."""

import pytest

from isagen.build import known_objects
from isagen.build.known_objects import ROOM, KnownObjects, Loaded
from isagen.model.kept import state_of
from support.elf import with_function


@pytest.mark.parametrize(("size", "count"), [(ROOM // 4, 4), (ROOM // 3 + 1, 2), (ROOM + 1, 1), (1, 9)])
def test_few_large_objects_are_in_memory(monkeypatch, size, count):
    loads = []
    monkeypatch.setattr(known_objects, "load_object", loads.append)
    loaded = Loaded()
    for name in "abcdefghi":
        loaded.of(name, size)
        loaded.of(name, size)
    assert loads == list("abcdefghi")
    for name in reversed("abcdefghi"[-count:]):
        loaded.of(name, size)
    assert loads == list("abcdefghi")
    if count < 9:
        loaded.of("abcdefghi"[-count - 1], size)
        assert len(loads) == 10


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Asks an object, in a run of its own: returns the answers, and whether the object was loaded."""
    path = str(tmp_path / "a.o")
    loads = []

    def load(path):
        loads.append(path)
        return real(path)

    real = known_objects.load_object
    monkeypatch.setattr(known_objects, "load_object", load)

    def asked(content=None, key="1"):
        if content is not None:
            (tmp_path / "a.o").write_bytes(content)
        known = KnownObjects(str(tmp_path / ".a.known"), key, Loaded())
        (file,) = known.load([path], {path: state_of(path)})
        found = [one.name for one in file.symbols], file.digest(), file.holds_more(()), file.addressed
        known.keep()
        loaded = bool(loads)
        loads.clear()
        return found, loaded

    return asked


def test_an_object_is_loaded_where_its_content_or_the_plan_is_another(ask):
    one, other = with_function(b"one"), with_function(b"two", code=b"\x90\xc3")
    first = ask(one)
    assert first[1]
    assert ask() == (first[0], False)
    assert ask(one) == (first[0], False)  # with other times
    assert ask(key="2") == first
    second = ask(other, key="2")
    assert second[1] and second[0] != first[0]
    assert ask(key="2") == (second[0], False)
    assert ask(one, key="2") == first


def test_a_new_question_loads_the_object(tmp_path, monkeypatch):
    path = tmp_path / "a.o"
    path.write_bytes(with_function(b"one"))
    for names, loads in (({"one"}, True), ({"one"}, False), ({"one", "of others"}, False), (set(), True)):
        loaded = Loaded()
        known = KnownObjects(str(tmp_path / ".a.known"), "1", loaded)
        (file,) = known.load([str(path)], {str(path): state_of(path)})
        assert file.digest("", names) == known_objects.load_object(path).digest("", names)
        assert bool(loaded._files) == loads
        known.keep()
