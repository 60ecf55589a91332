#!/usr/bin/env python3
"""The enumerator can say no: programs that forget a sync, and the state that shows it, by model."""
import os
import random
import sys
import tempfile

from crash_model import History, State

OLD, NEW = b"o" * 5000, b"n" * 9000
FOUND = {"whole", "old", "absent"}


def history_of(lines):
    """Of a directory with a file `name` (OLD) in it; FILE, OTHER, DIR and DEVICE stand for ids, PATH for its path."""
    with tempfile.TemporaryDirectory() as top:
        with open(os.path.join(top, "name"), "wb") as file:
            file.write(OLD)
        history = History([top])
        device = os.lstat(top).st_dev
        ids = {"DIR": f"{device}:{os.lstat(top).st_ino}", "DEVICE": f"{device}", "FILE": f"{device}:a",
               "OTHER": f"{device}:b"}
        log = os.path.join(top, "log")
        with open(log + ".data", "wb") as file:
            file.write(NEW)
        with open(log, "w", encoding="ascii") as file:
            for i, line in enumerate(lines):
                fields = [ids.get(field, field.replace("PATH", top)) for field in line.split()]
                file.write("\t".join([str(10 * i), str(10 * i + 5), *fields]) + "\n")
        return history.read(log), top


def outcomes(lines, model, name="name"):
    """What `name` may hold after each number of calls: a set of words, for all of them."""
    history, top = history_of(lines)
    found = [set() for _ in range(len(lines) + 1)]
    for upto in range(len(lines) + 1):
        for seed in range(60):
            there, _ = State(history, model, upto, random.Random(seed)).walk(top, {})
            data = there.get(name, (None, None))[1]
            words = {NEW: "whole", OLD: "old", None: "absent"}
            found[upto].add(words.get(data, "empty" if data == b"" else "damaged"))
    return found


CREATE = ["create PATH/tmp FILE", "data FILE 0 9000 0"]
RENAME = ["rename PATH/tmp PATH/name"]
GOOD = CREATE + ["sync FILE"] + RENAME + ["sync DIR"]


def expect(what, condition):
    print("ok" if condition else "NOT OK", what)
    return condition


def main():
    good = True
    for model in ("ext4", "xfs", "btrfs"):
        right = outcomes(GOOD, model)
        good &= expect(f"{model}: synced, renamed, synced: old or whole at any time", set().union(*right) <= FOUND - {"absent"})
        good &= expect(f"{model}: and whole at the end", right[-1] == {"whole"})
        good &= expect(f"{model}: without the directory's sync the name may be missing", "old" in outcomes(GOOD[:-1], model)[-1])
        bare = outcomes(CREATE + RENAME + ["sync DIR"], model)[-1]
        good &= expect(f"{model}: without the file's sync it may be empty or damaged", bool(bare & {"empty", "damaged"}))
        early = outcomes(CREATE + RENAME + ["sync FILE", "sync DIR"], model)
        good &= expect(f"{model}: synced after the rename it may be empty or damaged before", bool(set().union(*early) - FOUND))
        good &= expect(f"{model}: and is whole in the end", early[-1] == {"whole"})
        reserved = ["create PATH/tmp FILE", "alloc FILE 9000", "data FILE 0 9000 0"] + RENAME + ["sync DIR"]
        good &= expect(f"{model}: reserved room reads as zeros", "damaged" in outcomes(reserved, model)[-1])
        both = CREATE + ["syncall DEVICE"] + RENAME + ["syncall DEVICE"]
        good &= expect(f"{model}: syncfs twice does as well", outcomes(both, model)[-1] == {"whole"} and
                       set().union(*outcomes(both, model)) <= FOUND - {"absent"})
        gone = outcomes(GOOD + ["unlink PATH/name"], model)[-1]
        good &= expect(f"{model}: an unlink may have happened or not", gone == {"whole", "absent"})
    ordered = CREATE + ["sync FILE"] + RENAME + ["create PATH/other OTHER", "sync OTHER"]
    good &= expect("ext4: a sync carries the names before it", outcomes(ordered, "ext4")[-1] == {"whole"})
    good &= expect("btrfs: a sync of another file does not", "old" in outcomes(ordered, "btrfs")[-1])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
