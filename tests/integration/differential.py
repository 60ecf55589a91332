#!/usr/bin/env python3
"""Random trees, kept by haul and judged by rsync.

    differential.py HAUL RSYNC_OPTIONS WORK SEED COUNT [PLACE SHARE]

For each of COUNT trees: make one from its seed, `haul sync` it, ask rsync in a dry run what it would still have to do
between source and replica (nothing), change the source at random, and do it all once more. With PLACE and SHARE every
other tree goes to PLACE (nas:inbox), which is the directory SHARE. A difference is printed with the seed that makes it
again; exit 1. What haul documents as left out (fifos, sockets, devices, hard links as links) is not made here.
"""
import os
import random
import shutil
import subprocess
import sys

NAMES = ["plain", "with space", "new\nline", "-dash", "*star", "caf\udce9", "é", "Z", "a.b.c", "'quote", "#hash", "x" * 200]
SIZES = [0, 1, 100, 4095, 4096, 4097, 262144, 262145, 1048576, 1048577]
LEAF_BLOCKS = 2048  # of 512 bytes: what a long file has data in is written by whole leaves
IS_ROOT = os.geteuid() == 0
ACL_HEADER = b"\2\0\0\0"


def acl(rnd, with_default):
    def entry(tag, perm, who=0xFFFFFFFF):
        return tag.to_bytes(2, "little") + perm.to_bytes(2, "little") + who.to_bytes(4, "little")

    perms = [rnd.randrange(8) for _ in range(6)]
    users = sorted(rnd.sample([1, 2, 1234, 54321], 2))
    value = ACL_HEADER + entry(1, 7 if with_default else perms[0] | 6) + entry(2, perms[1], users[0])
    value += entry(2, perms[2], users[1]) + entry(4, perms[3]) + entry(8, perms[4], 4321)
    return value + entry(16, 7) + entry(32, perms[5])


def tag(rnd, path, is_dir, is_link):
    """Metadata of all sorts; the mode before the time, which it does not change."""
    if IS_ROOT and rnd.random() < 0.3:
        os.chown(path, rnd.choice([0, 1, 2, 1234, 54321]), rnd.choice([0, 1, 3, 4321]), follow_symlinks=False)
    if not is_link:
        if rnd.random() < 0.3:
            for _ in range(rnd.randrange(1, 4)):
                name = "user." + rnd.choice(["a", "b", "note", "x.y", "é"])
                os.setxattr(path, name, rnd.randbytes(rnd.choice([0, 1, 30, 300])))
        if IS_ROOT and rnd.random() < 0.1:
            os.setxattr(path, "trusted.t", b"t", follow_symlinks=False)
        mode = rnd.choice([0o755, 0o700, 0o555, 0o1777, 0o2775] if is_dir else [0o644, 0o600, 0o444, 0o755, 0o4755, 0o2755, 0])
        if not IS_ROOT:
            mode = mode & 0o777 | (0o700 if is_dir else 0o400)
        os.chmod(path, mode)
        if rnd.random() < 0.2:
            os.setxattr(path, "system.posix_acl_access", acl(rnd, False))
        if is_dir and rnd.random() < 0.2:
            os.setxattr(path, "system.posix_acl_default", acl(rnd, True))
    set_time(rnd, path)


def set_time(rnd, path):
    ns = rnd.choice([-86400 * 365 * 10, 0, 1234567890, 1700000000, 4102444800]) * 10**9 + rnd.randrange(10**9)
    os.utime(path, ns=(ns, ns), follow_symlinks=False)


def write(rnd, path, size):
    """Bytes, now and then with holes at either end or between."""
    with open(path, "wb") as f:
        if size > 100000 and rnd.random() < 0.4:
            f.seek(rnd.choice([0, size // 2, size - 10]))
            f.write(rnd.randbytes(10))
            f.truncate(size)
        else:
            f.write(rnd.randbytes(size))


def fill(rnd, path, depth):
    for name in rnd.sample(NAMES, rnd.randrange(0, 7)):
        here = os.path.join(path, name)
        kind = rnd.random()
        if kind < 0.25 and depth < 4:
            os.mkdir(here)
            fill(rnd, here, depth + 1)
            tag(rnd, here, True, False)
        elif kind < 0.4:
            os.symlink(rnd.choice(["plain", "../up", "/nowhere", "t" * rnd.choice([1, 60, 4095])]), here)
            tag(rnd, here, False, True)
        else:
            write(rnd, here, rnd.choice(SIZES))
            tag(rnd, here, False, False)


def entries(top):
    found = []
    for path, dirs, files in os.walk(top):
        found += [os.path.join(path, name) for name in dirs + files]
    return sorted(found)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def edit_one(rnd, path):
    is_link, is_dir = os.path.islink(path), os.path.isdir(path)
    what = rnd.randrange(4)
    if what == 0:
        remove(path)
    elif what == 1 and not is_dir:
        remove(path)
        write(rnd, path, rnd.choice(SIZES))
        tag(rnd, path, False, False)
    elif what == 2 and not is_link:
        for name in os.listxattr(path):
            if name.startswith("user.") or name.startswith("system.posix_acl"):
                os.removexattr(path, name)
    else:
        tag(rnd, path, is_dir and not is_link, is_link)


def edit(rnd, top):
    for path in rnd.sample(entries(top), min(5, len(entries(top)))):
        if os.path.lexists(path):
            edit_one(rnd, path)
    extra = os.path.join(top, "new")
    if not os.path.lexists(extra):
        os.mkdir(extra)
        fill(rnd, extra, 3)
        tag(rnd, extra, True, False)


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape")


def differences(rsync_options, source, replica):
    """What rsync would change, and holes that were filled."""
    code, text = run(["rsync", *rsync_options, "-n", "-c", "-i", "--delete", source + "/", replica + "/"])
    lines = [line for line in text.splitlines() if line and not line.endswith(" ./")]
    if code:
        lines.append(f"rsync ends with {code}")
    for path in entries(source):
        twin = replica + path[len(source):]
        if os.path.isfile(path) and not os.path.islink(path) and os.path.lexists(twin):
            slack = 64 if os.path.getsize(path) <= 256 * 1024 else 2 * LEAF_BLOCKS
            if os.lstat(twin).st_blocks > os.lstat(path).st_blocks + slack:
                lines.append(f"holes are filled: {twin}")
    return lines


def one_tree(haul, rsync_options, work, seed, remote):
    rnd = random.Random(seed)
    source, replica, place = os.path.join(work, "src"), os.path.join(work, "dst"), os.path.join(work, "dst")
    if remote:
        place, replica = remote[0] + f"/t{seed}", os.path.join(remote[1], f"t{seed}")
    os.mkdir(source)
    fill(rnd, source, 0)
    for round_number in range(2):
        code, text = run([haul, "sync", "-q", "--max-delete", "none", source + "/", place])
        found = differences(rsync_options, source, replica) if code == 0 else [f"haul ends with {code}", text]
        if found:
            print(f"seed {seed}, round {round_number}, {place}:")
            print("\n".join(found[:20]).encode("utf-8", "backslashreplace").decode())
            return False
        edit(rnd, source)
    remove(source)
    remove(replica)
    return True


def main():
    haul, rsync_options, work, seed, count = sys.argv[1], sys.argv[2].split(), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    remote = sys.argv[6:8]
    for i in range(count):
        if not one_tree(haul, rsync_options, work, seed + i, remote if remote and i % 2 else None):
            return 1
    print(f"{count} trees")
    return 0


if __name__ == "__main__":
    sys.exit(main())
