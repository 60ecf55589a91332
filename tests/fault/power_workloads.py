"""Jobs for power_cut.py: those of fault_workloads.py with more in them, and slow ones that leave partials on the way."""
import glob
import os
import subprocess

from fault_town import content, pause_until, tree, Wrong
from fault_workloads import files, named, other_file_system, Workload, MIB

SLOWLY = ("--bwlimit", "4M", "--block", "1M")


def crowd():
    new = {}
    for i in range(6):
        new.update(files(f"crowd{i}", [(j * 997) % 9000 for j in range(30)], f"c{i}"))
    return new, {}


def overwrite():
    sizes = [1, 100, 4096, 5000, 70000, 300000, MIB, MIB + 1, 2 * MIB + 77, 2 * MIB] + [i * 777 for i in range(30)]
    return files("new", sizes), files("old", [size // 2 + 9 for size in sizes])


def nested():
    new = {"a/" * depth + "leaf": content(f"leaf{depth}", 100 * depth) for depth in range(1, 12)}
    for i in range(5):
        for j in range(5):
            new.update(files(f"nested{i}{j}", [10 * i, 1000 * j, 5000], f"d{i}/e{j}"))
        new[f"d{i}/empty/"] = None
    return new, {"d1/e1/f00": b"stood here", "d1/other": b"not of the source"}


def links():
    new = {f"d{i % 4}/l{i}": ("link", f"to/{i}") for i in range(40)}
    new.update({"was-link": b"now a file", "was-file": ("link", "was-link"), "file": b"file"})
    new.update({f"changed{i}": ("link", f"new target {i}") for i in range(8)})
    old = {"was-link": ("link", "file"), "was-file": b"file"}
    old.update({f"changed{i}": ("link", "old target") for i in range(8)})
    return new, old


def mixed():
    new = files("mixed", [i * 531 for i in range(40)] + [MIB + 5, 2 * MIB, 3 * MIB + 4097], "sub")
    new.update({"sub/link": ("link", "f01"), "top": b"top", "empty/": None, "same": b"same"})
    old = {"top": b"TOP", "same": b"same", "only-here": b"kept"}
    old.update(files("before", [i * 311 + 1 for i in range(25)], "sub"))
    old["sub/f41"] = content("before", 2 * MIB)
    return new, old


def one_slow():
    return {"big": content("slow", 7 * MIB + 3)}, {}


def some_slow():
    new = files("some", [3 * MIB + 5, 4 * MIB, 2 * MIB + 4097, MIB + 1], "big")
    new.update(files("small", [i * 700 for i in range(20)], "small"))
    return new, {"big/f00": content("some0", 3 * MIB + 5)[:2 * MIB], "big/f02": b"short"}


class Slow(Workload):
    """Long enough for partials to be recorded on the way. cut: goes on with those of a job that was killed; is_changed:
    whose sources have changed since."""

    def __init__(self, name, make, cut=False, is_changed=False, **more):
        super().__init__(name, make, **more)
        self.cut, self.is_changed = cut, is_changed

    def commands(self):
        for args in super().commands():
            yield [args[0], *SLOWLY, *args[1:]]

    def recorded_leaves(self):
        """That partials at the destination hold for certain, by haul's own reading."""
        where = glob.glob(os.path.join(self.dest_top, ".haul", "partials"))
        done = subprocess.run([os.path.join(self.town.tools, "haul_kept_check"), *where], capture_output=True, text=True,
                              check=False)
        return int(done.stdout.split()[0]) if done.returncode == 0 else 0

    def before(self):
        if not self.cut:
            return
        town = self.town
        town.start_agent()
        begun = town.begin(next(iter(self.patient_commands())))
        pause_until(lambda: self.recorded_leaves() > 0, 30)
        begun[0].kill()
        town.finish(begun)
        town.stop_agent()
        if not self.recorded_leaves():
            raise Wrong("nothing was recorded before it was killed")
        self.old = tree(self.dest_top)  # some files may have arrived
        if self.is_changed:
            self.change()
        self.know_source()

    def change(self):
        for path, entry in list(self.source.items()):
            full = os.path.join(self.source_top, path)
            if entry[0] != "file" or len(entry[1]) < MIB:
                continue
            data = bytearray(entry[1])
            data[:100] = b"x" * 100
            with open(full, "wb") as file:
                file.write(data[:len(data) * 3 // 4])


class Across(Workload):
    """Within one machine, to another file system: on one that shares extents no call would write them."""

    def settle(self, town):
        self.elsewhere = other_file_system(town.work)
        return super().settle(town)


class Again(Slow):
    """The connection breaks once in the middle, and haul comes again by itself."""

    def begin(self):
        town = self.town
        self.proxy = subprocess.Popen([os.path.join(town.tools, "haul_proxy"), str(town.port), "--reset-after",
                                       str(4 * MIB)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        town.reach(int(self.proxy.stdout.readline().split()[1]))

    def end(self):
        self.proxy.kill()
        told, _ = self.proxy.communicate()
        self.town.reach(self.town.port)
        if b"struck" not in told:
            raise Wrong("the proxy let everything pass")


def small_ones():
    """What the light share takes."""
    return named("many small", "overwrite", "nested", "move", "pull", "links", "mixed", "another version") + [
        Slow("slow", one_slow), Slow("going on", one_slow, cut=True)]


def large_ones():
    return [
        Workload("crowd", crowd), Workload("overwrite", overwrite), Workload("nested", nested),
        Workload("move", mixed, is_local=True, is_move=True), Across("copy here", mixed, is_local=True),
        Workload("pull", mixed, is_pull=True), Workload("links", links), Workload("mixed", mixed),
        Workload("two at once", mixed, pairs=2), Slow("slow", one_slow), Slow("some slow", some_slow),
        Slow("going on", some_slow, cut=True), Slow("changed", some_slow, cut=True, is_changed=True),
        Slow("slow pull", some_slow, is_pull=True), Slow("pull goes on", some_slow, cut=True, is_pull=True),
        Slow("two slow", one_slow, pairs=2), Again("again", some_slow),
    ]
