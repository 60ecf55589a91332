"""Eleven jobs, each with what is there before; small, so that thousands of runs are possible."""
import os
import shutil
import tempfile

from fault_town import clear, content, content_of, put, tree, Wrong

OLD, NEW = 1000000000, 1600000000  # times, in seconds
MIB = 1 << 20


def files(seed, sizes, where=""):
    return {os.path.join(where, f"f{i:02}"): content(f"{seed}{i}", size) for i, size in enumerate(sizes)}


def one_big():
    return {"big": content("big", 5 * MIB + 3)}, {}


def many_small():
    return files("small", [(i * 97) % 3000 for i in range(40)]), {}


def overwrite():
    sizes = [1, 100, 4096, 5000, 70000, MIB, MIB + 1, 2 * MIB + 77]
    return files("new", sizes), files("old", [size // 2 + 9 for size in sizes])


def nested():
    new = {}
    for i in range(3):
        for j in range(3):
            new.update(files(f"nested{i}{j}", [10 * i, 1000 * j], f"d{i}/e{j}"))
    new["d0/empty/"] = None
    return new, {"d1/e1/f00": b"stood here", "d1/other": b"not of the source"}


def links():
    new = {f"l{i}": ("link", f"to/{i}") for i in range(6)}
    new.update({"dangling": ("link", "/no/where"), "was-link": b"now a file", "was-file": ("link", "was-link"),
                "changed": ("link", "new target"), "file": b"file"})
    return new, {"was-link": ("link", "file"), "was-file": b"file", "changed": ("link", "old target")}


def deep():
    path = "/".join(["level"] * 25)
    return {path + "/file": content("deep", 3000), "level/level/x": b"x"}, {}


def mixed():
    new = files("mixed", [0, 1, 3000, MIB + 5, 2 * MIB], "sub")
    new.update({"sub/link": ("link", "f01"), "top": b"top", "empty/": None, "same": b"same"})
    return new, {"top": b"TOP", "sub/f02": content("before", 2 * MIB), "same": b"same", "only-here": b"kept"}


def another_version():
    """What is equal is taken from the file that is there: in one of them at the end, in one around what changed."""
    new = {"grown": content("grown", 6 * MIB + 5), "patched": content("patched", 5 * MIB)}
    patched = bytearray(new["patched"])
    patched[2 * MIB + 9] ^= 1
    return new, {"grown": new["grown"][:5 * MIB + 1], "patched": bytes(patched)}


class Workload:
    """A job from `source` into `dest`. is_pull: from the share; is_local: no agent; is_move: the source goes."""

    def __init__(self, name, make, is_pull=False, is_local=False, is_move=False, pairs=1):
        self.name, self.make, self.pairs = name, make, pairs
        self.is_pull, self.is_local, self.is_move = is_pull, is_local, is_move
        self.elsewhere = None

    def needs_agent(self):
        return not self.is_local

    def settle(self, town):
        """Find its places and put the source there."""
        self.town = town
        here = town.path("here")
        self.source_top = town.share if self.is_pull else here
        if self.is_move and not self.elsewhere:
            self.elsewhere = other_file_system(town.work)
        self.dest_top = self.elsewhere or (town.path("there") if self.is_pull or self.is_local else town.share)
        for top in {here, self.source_top, self.dest_top}:
            os.makedirs(top, exist_ok=True)
        return self

    def names(self):
        return [f"src{i}" for i in range(self.pairs)]

    def reset(self):
        """As before the first run; old and new trees of the destination."""
        new, old = self.make()
        for top in {self.source_top, self.dest_top}:
            clear(top)
        for name in self.names():
            build(os.path.join(self.source_top, name), new, NEW)
            build(os.path.join(self.dest_top, name), old, OLD)
        self.old = tree(self.dest_top)
        self.know_source()

    def know_source(self):
        self.source = tree(self.source_top)
        self.new = {**self.old, **self.source}

    def begin(self):
        """Before its commands run, with the agent there; end() after."""

    def end(self):
        pass

    def commands(self):
        for name in self.names():
            if self.is_pull:
                yield ["copy", "--timeout", "1", f"nas:inbox/{name}", self.dest_top + "/"]
            elif self.is_move:
                yield ["move", "--on-conflict=replace", os.path.join(self.source_top, name), self.dest_top]
            elif self.is_local:
                yield ["copy", os.path.join(self.source_top, name), self.dest_top]
            else:
                yield ["copy", "--timeout", "1", os.path.join(self.source_top, name), "nas:inbox"]

    def patient_commands(self):
        """Of a run in which nothing breaks: on a busy machine a second brings nothing."""
        for args in self.commands():
            yield ["30" if arg == "1" else arg for arg in args]

    def check_source(self, there):
        """Nothing of the source is lost: it is whole, or (move) what is missing has arrived."""
        now = tree(self.source_top)
        for path, entry in self.source.items():
            if now.get(path) == entry or (entry[0] == "dir" and path in now):
                continue
            if not self.is_move or path in now or content_of(there.get(path)) != content_of(entry):
                raise Wrong(f"{path} of the source is lost")

    def close(self):
        if self.elsewhere:
            shutil.rmtree(self.elsewhere, ignore_errors=True)
            self.elsewhere = None


def other_file_system(work):
    """A directory on another one, which needs no rights: there is one in memory."""
    for top in ("/dev/shm", "/tmp", "/var/tmp"):
        if os.path.isdir(top) and os.access(top, os.W_OK) and os.stat(top).st_dev != os.stat(work).st_dev:
            return tempfile.mkdtemp(prefix="haul-fault.", dir=top)
    raise Wrong("there is no other file system to move to")


def build(top, spec, when):
    if not spec and spec is not None:
        return
    os.makedirs(top, exist_ok=True)
    for path, data in spec.items():
        if path.endswith("/"):
            os.makedirs(os.path.join(top, path), exist_ok=True)
        else:
            put(os.path.join(top, path), data, when)
    for where, dirs, _ in os.walk(top, topdown=False):
        for name in dirs + [""]:
            path = os.path.join(where, name)
            if not os.path.islink(path):
                os.utime(path, ns=(when * 1000000000,) * 2)


def all_workloads():
    return [
        Workload("one big", one_big), Workload("many small", many_small), Workload("overwrite", overwrite),
        Workload("nested", nested), Workload("move", mixed, is_local=True, is_move=True),
        Workload("pull", mixed, is_pull=True), Workload("two at once", mixed, pairs=2), Workload("links", links),
        Workload("deep", deep), Workload("mixed", mixed), Workload("another version", another_version),
    ]


def named(*names):
    return [w for w in all_workloads() if w.name in names]
