"""What may be on the medium after a power cut, from a log of calls (fault_log.h).

A history is the list of calls in order, each with the objects that it touched. A state is what is left of the first P of
them. Three models say which calls may be missing from it:

ext4, XFS  The journal keeps the order of all that is not data: names and sizes up to some call are there, those after
           it are not. fsync of a file or directory puts that call behind the last that touched it, syncfs behind all.
           Data that was not synced may be there, or not, or in part, whatever is true of the name: where room was
           reserved it then reads as zeros. XFS moves the end of a file, where that was not reserved, only when the
           data before it is there.
btrfs      The end of a file moves as on XFS. A commit holds everything up to some call, and syncfs is one. What was fsynced after it is there as well,
           alone: of a file its data and size (its name may, or may not, come with it); of a directory its names.

In part: of one write the pages of its first half, of its second, every other one, or what lies before the end of a
sector (a disk writes those whole): the first, the middle one, the last.
"""
import bisect
import hashlib
import os
import stat

ABSENT, WHOLE, HEAD, TAIL, COMB, FIRST_SECTOR, HALF_SECTORS, BUT_LAST_SECTOR = range(8)
UNSYNCED = (ABSENT, ABSENT, WHOLE, WHOLE, HEAD, TAIL, COMB, FIRST_SECTOR, HALF_SECTORS, BUT_LAST_SECTOR)
PAGE, SECTOR = 4096, 512


class Node:
    """A file, directory or link: what it was at first, and which calls changed its content."""

    count = 0

    def __init__(self, kind, device, value=None):
        self.kind, self.device, self.first = kind, device, value
        self.entries = {}       # of a directory, now: name -> Node
        self.first_entries = {}
        self.names = set()      # now: (directory, name)
        self.changes = []       # calls with data, size, zero, alloc, in order
        self.syncs = []         # numbers of the calls that synced it
        self.named = self.sized = -1  # the last call that touched it otherwise, and that set its size
        Node.count += 1
        self.number = Node.count


class Call:
    def __init__(self, begin, end, what, device, **facts):
        self.begin, self.end, self.what, self.device = begin, end, what, device
        self.__dict__.update(facts)


class Unknown(Exception):
    """The log says something that this model does not understand."""


class History:
    def __init__(self, roots):
        self.roots, self.by_id, self.calls = {}, {}, []
        for top in roots:
            self.roots[top] = self._scan(top)
        devices = {node.device for node in self.roots.values()}
        self.syncs = {device: [] for device in devices}             # of whole file systems
        self.floors = [{device: 0 for device in devices}]           # by calls so far: before it all names are there

    def _scan(self, path):
        facts = os.lstat(path)
        key = f"{facts.st_dev}:{facts.st_ino}"
        if key in self.by_id:
            return self.by_id[key]
        if stat.S_ISDIR(facts.st_mode):
            node = Node("dir", facts.st_dev)
            for name in os.listdir(path):
                below = self._scan(os.path.join(path, name))
                node.entries[name] = node.first_entries[name] = below
                below.names.add((node, name))
        elif stat.S_ISLNK(facts.st_mode):
            node = Node("link", facts.st_dev, os.readlink(path))
        else:
            with open(path, "rb") as file:
                node = Node("file", facts.st_dev, file.read())
        self.by_id[key] = node
        return node

    def _place(self, path):
        """The directory and the name in it, by what stands there now."""
        for top, node in self.roots.items():
            if path.startswith(top + "/"):
                *way, name = path[len(top) + 1:].split("/")
                for step in way:
                    node = node.entries[step]
                return node, name
        raise Unknown(f"{path} is not below a root")

    def _set(self, changed, place, node):
        directory, name = place
        old = directory.entries.pop(name, None)
        if old:
            old.names.discard((directory, name))
        if node:
            directory.entries[name] = node
            node.names.add((directory, name))
        changed.append((directory, name, node))

    def _names(self, times, what, fields):
        changed = []
        place = self._place(fields[-1] if what in ("link", "rename", "name") else fields[0])
        if what in ("create", "mkdir"):
            node = self.by_id[fields[1]] = Node("dir" if what == "mkdir" else "file", place[0].device, b"")
        elif what == "symlink":
            node = Node("link", place[0].device, fields[1])
        elif what == "unlink":
            node = None
        elif what == "name":
            node = self.by_id[fields[0]]
        else:
            before = self._place(fields[0])
            node = before[0].entries[before[1]]
        gone = place[0].entries.get(place[1])
        self._set(changed, place, node)
        if what == "rename":
            self._set(changed, before, None)
        for one in {directory for directory, _, _ in changed} | {n for n in (node, gone) if n}:
            one.named = len(self.calls)
        self.calls.append(Call(*times, "names", place[0].device, changed=changed))

    def _content(self, times, what, fields, data):
        node = self.by_id[fields[0]]
        numbers = [int(field) for field in fields[1:]]
        call = Call(*times, what, node.device, number=len(self.calls), numbers=numbers)
        if what in ("size", "alloc"):
            node.sized = node.named = call.number
        if what == "data":
            offset, length, at = numbers
            call.offset, call.bytes = offset, data[at:at + length]
        node.changes.append(call)
        self.calls.append(call)

    def read(self, log):
        with open(log + ".data", "rb") as file:
            data = file.read()
        with open(log, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                begin, end, what, *fields = line.rstrip("\n").split("\t")
                times = int(begin), int(end)
                if what == "nameless":
                    self.by_id[fields[0]] = Node("file", int(fields[0].split(":")[0]), b"")
                    continue
                if what in ("create", "mkdir", "symlink", "link", "rename", "unlink", "name"):
                    self._names(times, what, fields)
                elif what in ("data", "size", "zero", "alloc"):
                    self._content(times, what, fields, data)
                elif what in ("sync", "datasync"):
                    self._synced(times, what, self.by_id[fields[0]])
                elif what == "syncall":
                    self.syncs[int(fields[0])].append(len(self.calls))
                    self.calls.append(Call(*times, "syncall", int(fields[0])))
                else:
                    raise Unknown(line)
                self._raise_floor(self.calls[-1])
        return self

    def _synced(self, times, what, node):
        node.syncs.append(len(self.calls))
        self.calls.append(Call(*times, "sync", node.device, node=node, entries=dict(node.entries),
                               names=set(node.names) if what == "sync" else set(),
                               floor=1 + (node.named if what == "sync" else node.sized)))

    def _raise_floor(self, call):
        floors = dict(self.floors[-1])
        if call.what == "syncall":
            floors[call.device] = len(self.calls)
        elif call.what == "sync":
            floors[call.device] = max(floors[call.device], call.floor)
        self.floors.append(floors)


def content(node, taken, cache):
    """A digest of a file's bytes and these, with those of its calls that were taken: ((call, how), ...)."""
    key = (node.number, tuple((call.number, how) for call, how in taken))
    if key not in cache:
        data = bytearray(node.first or b"")
        for call, how in taken:
            apply_change(data, call, how)
        cache[key] = hashlib.blake2b(data, digest_size=16).digest(), bytes(data)
    return cache[key]


def parts(offset, length, how):
    """Which bytes of a write are there: (from, to) within it."""
    if how == WHOLE:
        return [(0, length)]
    cuts = [0] + [at - offset for at in range((offset // PAGE + 1) * PAGE, offset + length, PAGE)] + [length]
    pages = list(zip(cuts, cuts[1:]))
    half = (len(pages) + 1) // 2
    if how in (HEAD, TAIL, COMB):
        return {HEAD: pages[:half], TAIL: pages[half:], COMB: pages[1::2]}[how]
    ends = [at - offset for at in range((offset // SECTOR + 1) * SECTOR, offset + length, SECTOR)]
    if not ends:
        return []
    return [(0, ends[{FIRST_SECTOR: 0, HALF_SECTORS: len(ends) // 2, BUT_LAST_SECTOR: -1}[how]])]


def apply_change(data, call, how):
    if call.what == "size":
        end = call.numbers[0]
        del data[end:]
        data.extend(bytes(end - len(data)))
    elif call.what == "alloc":
        data.extend(bytes(max(0, call.numbers[0] - len(data))))
    elif call.what == "zero":
        offset, length = call.numbers
        end = min(offset + length, len(data))
        data[offset:end] = bytes(max(0, end - offset))
    else:
        for begin, end in parts(call.offset, len(call.bytes), how):
            at = call.offset + begin
            data.extend(bytes(max(0, at - len(data))))
            data[at:at + end - begin] = call.bytes[begin:end]


class State:
    """One of those that the first `upto` calls may have left; `rng` makes the choices. mood "complete": they all count."""

    def __init__(self, history, model, upto, rng, mood=None):
        self.history, self.model, self.upto, self.rng = history, model, upto, rng
        self.entries, self.cut = {}, {}
        self.calls = history.calls[:upto]
        self.mood = mood or rng.choice(("none", "all", "random"))
        for device in history.syncs:
            self._names_of(device)

    def entries_of(self, directory):
        if directory not in self.entries:
            self.entries[directory] = dict(directory.first_entries)
        return self.entries[directory]

    def _last_sync(self, syncs):
        """The last of these calls that is in the state, or -1."""
        i = bisect.bisect_left(syncs, self.upto)
        return syncs[i - 1] if i else -1

    def _names_of(self, device):
        is_ordered = self.model != "btrfs"
        floor = self.history.floors[self.upto][device] if is_ordered else \
            self._last_sync(self.history.syncs[device]) + 1
        self.cut[device] = self.upto if self.mood == "complete" else \
            self.rng.choice((floor, self.upto, self.rng.randint(floor, self.upto)))
        for call in self.calls[:self.cut[device]]:
            if call.what == "names" and call.device == device:
                for directory, name, node in call.changed:
                    self._put(directory, name, node)
        if self.model == "btrfs":
            for call in self.calls[self.cut[device]:]:
                if call.what == "sync" and call.device == device:
                    self._replay(call)

    def _put(self, directory, name, node):
        entries = self.entries_of(directory)
        entries.pop(name, None)
        if node:
            entries[name] = node

    def _replay(self, call):
        if call.node.kind == "dir":
            self.entries[call.node] = dict(call.entries)
        elif self.rng.random() < 0.5:
            for directory, name in call.names:
                self._put(directory, name, call.node)

    def _is_durable(self, node, number):
        return number < max(self._last_sync(node.syncs), self._last_sync(self.history.syncs[node.device]))

    def taken(self, node):
        """Which of a file's calls are in its content."""
        taken, size, is_open = [], len(node.first or b""), True
        for call in node.changes:
            if call.number >= self.upto:
                break
            how = WHOLE
            if self._is_durable(node, call.number):
                pass
            elif call.what in ("size", "alloc"):
                how = WHOLE if call.number < self.cut[node.device] else ABSENT
            elif self.mood not in ("all", "complete"):
                how = ABSENT if self.mood == "none" else self.rng.choice(UNSYNCED)
                if call.what == "zero" and how != ABSENT:
                    how = WHOLE
                if self.model != "ext4" and call.what == "data" and call.offset + len(call.bytes) > size:
                    how = how if is_open and how != TAIL and how != COMB else ABSENT
                    is_open = is_open and how == WHOLE
            if how == ABSENT:
                continue
            taken.append((call, how))
            if call.what == "data":
                size = max([size] + [call.offset + end for _, end in parts(call.offset, len(call.bytes), how)])
            elif call.what != "zero":
                size = call.numbers[0] if call.what == "size" else max(size, call.numbers[0])
        return taken

    def walk(self, top, cache):
        """path -> (kind, bytes or target), haul's own names too; and of each (path, what it holds), to tell states
        apart as who reads them can."""
        found, keys, todo, memo = {}, [], [("", self.history.roots[top])], {}
        while todo:
            where, directory = todo.pop()
            for name, node in self.entries_of(directory).items():
                path = os.path.join(where, name)
                if node.kind == "dir":
                    found[path] = ("dir",)
                    todo.append((path, node))
                elif node.kind == "link":
                    found[path] = ("link", node.first)
                else:
                    if node not in memo:
                        memo[node] = content(node, self.taken(node), cache)
                    found[path] = ("file", memo[node][1])
                    keys.append((path, memo[node][0]))
                    continue
                keys.append((path, found[path]))
        return found, tuple(sorted(keys, key=lambda k: k[0]))
