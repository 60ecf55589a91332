#!/usr/bin/env python3
"""Record what a job does to its destination, and look at every state that a power cut might leave of it.

Usage: power_cut.py BUILD TOOLS WORK [--seed N] [--points STATES] [--jobs N] [WORKLOAD...]

STATES different ones, as who reads them can tell them apart, for each model of crash_model.py and each workload. In each: every name holds wholly what was
there or what shall be there; what was told as sent, and after exit 0 everything, is there and new; of a moved file one
of both is there; and each leaf that a kept partial's record names is in the partial. From some states a job goes on,
for real, to exit 0 and equal trees. A sync takes longer than it would, so that telling before its end is seen.
Reports: R-09, R-03, R-12, S-06, D-10.
"""
import hashlib
import json
import os
import random
import shutil
import subprocess
import threading
import time

from crash_model import History, State
from fault_driver import Driver
from fault_town import clear, content_of, is_private, put, tree, Plan, Wrong, LIMIT_S
from fault_workloads import MIB
from kill_points import go_on
from power_workloads import large_ones, small_ones, Slow

SYNC_MS = 2
CACHE_BYTES = 256 * MIB
KEPT_AT_ONCE = 16
TRIES = 12  # as many as states are wanted, before a history is said to have no more


def read_live(run, told):
    """Each event with the time at which it was heard of."""
    for line in run.stdout:
        told.append((time.monotonic_ns(), line))


def record(workload):
    """Run once under the recorder: the history, and what was told when: [(time, path)]."""
    town, log = workload.town, workload.town.path("log")
    roots = {workload.dest_top} | ({workload.source_top} if workload.is_move else set())
    plan = Plan("disk", ":".join(roots), log=log, sync_ms=SYNC_MS)
    is_agent = workload.needs_agent() and not workload.is_pull
    history = History(sorted(roots))
    if workload.needs_agent():
        town.start_agent(plan if is_agent else None)
    workload.begin()
    runs = [town.begin(args, None if is_agent else plan) for args in workload.patient_commands()]
    told = []
    readers = [threading.Thread(target=read_live, args=(run[0], told)) for run in runs]
    for reader in readers:
        reader.start()
    codes = [run[0].wait(LIMIT_S) for run in runs]
    ended = time.monotonic_ns()
    for reader, run in zip(readers, runs):
        reader.join()
        run[1].close()
    workload.end()
    if workload.needs_agent():
        town.stop_agent()
    if any(codes):
        raise Wrong(f"{workload.name} without a fault: exit {codes}")
    history.read(log)
    check_record(workload, history)
    return history, claims(workload, told, ended)


def check_record(workload, history):
    """With every call in it, it is what there is now: nothing was done past the recorder."""
    state = State(history, "ext4", len(history.calls), random.Random(0), mood="complete")
    for top in history.roots:
        there, _ = state.walk(top, {})
        found = {path: content_of(entry) for path, entry in tree(top).items()}
        there = {path: entry for path, entry in there.items() if not any(map(is_private, path.split("/")))}
        if there != found:
            wrong = [path for path in set(there) | set(found) if there.get(path) != found.get(path)]
            raise Wrong(f"the record of {workload.name} is not complete: {sorted(wrong)[:5]}")


def claims(workload, told, ended):
    found = [(ended, path) for path in workload.source]
    for when, line in told:
        event = json.loads(line)
        if event["event"] == "file" and event.get("outcome") == "proven" and event.get("kind") == "file":
            found.append((when, event["path"]))
    return found


def private_part(state):
    """Kept partials and their records, by name."""
    return {os.path.basename(path): entry[1] for path, entry in state.items()
            if entry[0] == "file" and "/partials/" in path}


class Judge:
    """Looks at states of one history."""

    def __init__(self, workload, history, told):
        self.workload, self.history, self.told = workload, history, told
        self.cache, self.seen, self.seen_names, self.visited = {}, set(), set(), []
        self.kept, self.kept_seen, self.kept_leaves = [], set(), [0, 0]

    def state(self, model, upto, seed):
        """What is at the destination, what at the source of a move, and a key of both."""
        if sum(len(data) for _, data in self.cache.values()) > CACHE_BYTES:
            self.cache.clear()
        state = State(self.history, model, upto, random.Random(seed))
        everything, key = state.walk(self.workload.dest_top, self.cache)
        source, source_key = state.walk(self.workload.source_top, self.cache) if self.workload.is_move else ({}, ())
        named = [one for one in key if not any(map(is_private, one[0].split("/")))]
        self.names_key = hashlib.blake2b(repr((model, named, source_key)).encode()).digest()
        return everything, source, hashlib.blake2b(repr((model, key, source_key)).encode()).digest()

    def look(self, model, upto, seed):
        """True: a state that was not seen before."""
        everything, source, key = self.state(model, upto, seed)
        if key in self.seen:
            return False
        self.seen.add(key)
        self.seen_names.add((model, self.names_key))
        there = {path: entry for path, entry in everything.items() if not any(map(is_private, path.split("/")))}
        self._check(there, source, upto)
        self._note_kept(private_part(everything))
        self.visited.append((model, upto, seed))
        return True

    def _note_kept(self, kept):
        key = tuple(sorted((name, hash(data)) for name, data in kept.items()))
        if not any(name.endswith(".record") for name in kept) or key in self.kept_seen:
            return
        self.kept_seen.add(key)
        self.kept.append(kept)
        if len(self.kept) == KEPT_AT_ONCE:
            self.check_kept()

    def _check(self, there, source, upto):
        work = self.workload
        for path, entry in there.items():
            if entry not in (content_of(work.old.get(path)), content_of(work.new.get(path))):
                raise Wrong(f"{path} is neither old nor new after {upto} calls: {entry[0]} of "
                            f"{len(entry[1]) if len(entry) > 1 else 0}")
        for path in work.old:
            if path not in there:
                raise Wrong(f"{path} was there and is gone after {upto} calls")
        calls = self.history.calls
        now = calls[upto].end if upto < len(calls) else float("inf")
        for when, path in self.told:
            if when < now and there.get(path) != content_of(work.new[path]):
                raise Wrong(f"{path} was told as sent and is not there after {upto} calls")
        if work.is_move:
            for path, entry in work.source.items():
                if entry[0] != "dir" and content_of(entry) not in (there.get(path), source.get(path)):
                    raise Wrong(f"{path} is at neither end after {upto} calls")

    def check_kept(self):
        """What has gathered, by haul's own reading of records."""
        top, tops = self.workload.town.path("kept"), []
        for i, kept in enumerate(self.kept):
            tops.append(os.path.join(top, str(i)))
            for name, data in kept.items():
                put(os.path.join(tops[-1], name), data)
                os.chmod(os.path.join(tops[-1], name), 0o600)
        self.kept = []
        if not tops:
            return
        done = subprocess.run([os.path.join(self.workload.town.tools, "haul_kept_check"), *tops], capture_output=True,
                              text=True, check=False)
        shutil.rmtree(top)
        if done.returncode:
            raise Wrong(done.stdout[:2000] + done.stderr)
        self.kept_leaves[0] += len(tops)
        self.kept_leaves[1] += int(done.stdout.split()[0])


def put_state(workload, state):
    """Make the destination what the state says; times are those of what a name holds."""
    clear(workload.dest_top)
    for path, entry in sorted(state.items()):
        full = os.path.join(workload.dest_top, path)
        known = next((tree_[path] for tree_ in (workload.new, workload.old)
                      if content_of(tree_.get(path)) == entry), None)
        if entry[0] == "dir":
            os.makedirs(full, exist_ok=True)
            if any(map(is_private, path.split("/"))):
                os.chmod(full, 0o700)
            continue
        put(full, entry if entry[0] == "link" else entry[1])
        if entry[0] == "file":
            os.chmod(full, known[3] if known else 0o600)
            if known:
                os.utime(full, ns=(known[2],) * 2)


def cases(workload, driver):
    workload.reset()
    if isinstance(workload, Slow):
        workload.before()
    history, told = record(workload)
    workload.judge = Judge(workload, history, told)
    print(f"  {workload.name}: {len(history.calls)} calls recorded", flush=True)
    workload.wanted = driver.options.points
    yield from ((model, 0, "states") for model in driver.options.models.split(","))
    yield ("kept", 0, "partials")
    for i in range(1 + workload.wanted // 200 if not workload.is_move else 0):
        yield ("go on", i, "state")


def run_case(workload, case):
    judge, what = workload.judge, case[0]
    if what == "kept":
        judge.check_kept()
        if isinstance(workload, Slow) and not judge.kept_leaves[1]:
            raise Wrong("no leaf was recorded: nothing was looked at")
        print(f"  {workload.name}: {judge.kept_leaves[1]} leaves in {judge.kept_leaves[0]} recorded partials are there",
              flush=True)
        return "looks at kept partials"
    if what == "go on" and not judge.visited:
        raise Wrong("no state held: nothing to go on from")
    if what == "go on":
        put_state(workload, judge.state(*workload.rng.choice(judge.visited))[0])
        go_on(workload, may_keep=True)
        return "goings on"
    found, calls = 0, len(judge.history.calls)
    for attempt in range(TRIES * workload.wanted):
        found += judge.look(what, attempt % (calls + 1), workload.rng.getrandbits(64))
        if found == workload.wanted:
            break
    named = sum(model == what for model, _ in judge.seen_names)
    print(f"  {workload.name}, {what}: {found} different states, {named} by what is not haul's own", flush=True)
    workload.states[what] += found
    workload.named_states[what] += named
    return f"{what} models"


if __name__ == "__main__":
    driver = Driver(__doc__)
    all_of_them = large_ones() if driver.options.large else small_ones()
    states, named_states = (dict.fromkeys(driver.options.models.split(","), 0) for _ in range(2))
    for one in all_of_them:
        one.states, one.named_states = states, named_states
    try:
        driver.run(all_of_them, cases, run_case)
    finally:
        print("different states:", ", ".join(f"{count} {model} ({named_states[model]} by what is not haul's own)"
                                             for model, count in states.items()), flush=True)
