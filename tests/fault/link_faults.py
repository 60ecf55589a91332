#!/usr/bin/env python3
"""What befalls the link of a transfer, at any of its bytes; and how haul answers.

Usage: link_faults.py BUILD TOOLS WORK [--seed N] [--points N] [--jobs N] [--only KIND:BYTE:LANES] [--kinds KIND,...]
                      [--real-time] [push] [pull]

KIND: reset, half (one direction ends), corrupt (a byte is another one), hole (all goes silent), lane (one connection of
several goes silent), stall (all is silent for a while, also for who calls), trickle (a byte a second), stop (the agent is
stopped and wakes up), kill (it is killed and comes back). --points of reset and corrupt, a fifth as many of the others.

After each: exit 0 and equal trees, or, where the fault came before the job had been accepted, exit 5; nothing is told as
sent that is not there; no crash; the agent serves on. A silent peer is found within HAUL_DEAD_PEER_MS; --real-time leaves
that at its 30 s and stalls for 60 s. The table at the end is the one of docs/TESTING.md.
"""
import collections
import os
import signal
import subprocess
import time

from fault_driver import Driver
from fault_town import check_equal, check_old_or_new, check_reported, clear, private_names, content, put, Town, tree, Wrong

DEAD_MS, STALL_MS, REAL_DEAD_MS, REAL_STALL_MS = 2000, 5000, 30000, 60000
KINDS = ("reset", "corrupt", "half", "hole", "lane", "stall", "trickle", "stop", "kill")
SILENT = ("hole", "lane", "stall", "trickle", "stop")
HANDSHAKES = 60000  # bytes that pass before a job is accepted, at most
FILES = {"big": 6 << 20, **{f"many/{i:02}": 97 * i for i in range(30)}, "deep/er/file": 70000}
TOTAL = sum(FILES.values())


class Way:
    """Push or pull of one small tree, again and again."""

    def __init__(self, name):
        self.name, self.is_pull = name, name == "pull"

    def settle(self, town):
        self.town = town
        self.source_top = town.share if self.is_pull else town.path("here")
        self.dest_top = town.path("there") if self.is_pull else town.share
        for top in (self.source_top, self.dest_top):
            os.makedirs(top, exist_ok=True)
            clear(top)
        for path, size in FILES.items():
            put(os.path.join(self.source_top, "tree", path), content(path, size), 1600000000)
        self.wanted = tree(self.source_top)
        return self

    def close(self):
        pass

    def command(self, lanes):
        ends = ["nas:inbox/tree", self.dest_top + "/"] if self.is_pull else [self.source_top + "/tree", "nas:inbox"]
        return ["copy", "--block", "1M", "--lanes", str(lanes), "--timeout", "40", *ends]


class Proxy:
    def __init__(self, town, kind, at, options):
        fault = {"lane": "hole"}.get(kind, kind)
        words = [os.path.join(town.tools, "haul_proxy"), str(town.port), f"--{fault}-after", str(at)]
        words += ["--one"] if kind == "lane" else []
        words += ["--stall-ms", str(REAL_STALL_MS if options.real_time else STALL_MS)]
        words += ["--kill", str(town.agent.pid)]
        self.log = town.path("proxy.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log)
        end = time.monotonic() + 10
        while not self.text().startswith("listening ") and time.monotonic() < end:
            time.sleep(0.005)
        self.port = int(self.text().split()[1])

    def text(self):
        with open(self.log, encoding="ascii") as log:
            return log.read()

    def has_struck(self):
        return "struck" in self.text()

    def close(self):
        self.process.kill()
        self.process.wait()


def reach(town, port):
    """B's address is written where `haul peer add` does, by itself."""
    town.run_plain(town.a, "peer", "remove", "nas")
    town.run_plain(town.a, "peer", "add", town.b_id, "--name", "nas", "--address", f"127.0.0.1:{port}")


def watch(town, begun, proxy, kind):
    """Until the command ends: when the fault came, and when it was found. Wakes or restarts the agent meanwhile."""
    run, errors = begun[0], begun[1]
    came = found = None
    while run.poll() is None:
        now = time.monotonic()
        if came is None and proxy.has_struck():
            came = now
            if kind == "kill":
                town.agent.wait()
                town.agent.stdout.close()
                town.start_agent()
        if came and found is None and b"trying again" in os.pread(errors.fileno(), 65536, 0):
            found = now
            if kind == "stop":
                town.agent.send_signal(signal.SIGCONT)
        if came and found is None and kind == "stop" and now - came > 60:
            town.agent.send_signal(signal.SIGCONT)
        if came and now - came > 150:
            run.send_signal(signal.SIGABRT)
        time.sleep(0.01)
    return came, found, time.monotonic()


def verdict(way, case, code, events, text, struck):
    kind, at, lanes = case
    if "Sanitizer" in text or code < 0:
        raise Wrong(f"crashed or hung: {code}: {text[-2000:]}")
    there = tree(way.dest_top)
    check_old_or_new(there, {}, way.wanted)
    check_reported(events, there, way.wanted)
    if code == 0:
        check_equal(there, way.wanted)
        if private_names(way.dest_top):
            raise Wrong(f"left behind: {private_names(way.dest_top)[:3]}")
        return "whole" if struck else "not reached"
    if code == 5 and at < HANDSHAKES:
        return "not begun (5)"
    raise Wrong(f"exit {code}: {text[-600:]}")


def run_once(way, case):
    kind, at, lanes = case[0], int(case[1]), int(case[2])
    town = way.town
    clear(way.dest_top)
    if not town.agent:
        town.start_agent()
    proxy = Proxy(town, kind, at, DRIVER.options)
    try:
        reach(town, proxy.port)
        begun = town.begin(way.command(lanes))
        came, found, ended = watch(town, begun, proxy, kind)
        code, events, text, _ = town.finish(begun)
        what = verdict(way, (kind, at, lanes), code, events, text, came is not None or proxy.has_struck())
        bound = (REAL_DEAD_MS if DRIVER.options.real_time else DEAD_MS) / 1000
        if found and kind in SILENT and found - came > bound * 1.2 + 1:
            raise Wrong(f"silence was found after {found - came:.1f} s")
    finally:
        if kind == "stop" and town.agent:
            town.agent.send_signal(signal.SIGCONT)
        proxy.close()
    spoken = town.sanitizer_spoke()
    if spoken:
        raise Wrong(spoken)
    FIGURES[way.name, kind].append((what, found - came if found else None, ended - came if came else None,
                                    events[-1].get("bytes_sent", 0) if events else 0))
    return what


def cases(way, driver):
    few = max(1, driver.options.points // 5)
    for kind in driver.options.kinds.split(","):
        points = driver.options.points if kind in ("reset", "corrupt") else few
        for i in range(points):
            at = int((i + way.rng.random()) * (TOTAL + 20000) / points)
            if kind in ("half", "hole", "lane", "stall", "trickle", "stop", "kill"):
                at = max(at, HANDSHAKES)
            yield kind, at, 4 if kind == "lane" else way.rng.randint(1, 4)


def show():
    print("| way | fault | cases | whole | not begun (5) | found after, at most | over after, at most | sent, at most |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, kind), rows in sorted(FIGURES.items(), key=lambda item: (item[0][0], KINDS.index(item[0][1]))):
        count = collections.Counter(row[0] for row in rows)
        found, over = ([row[i] for row in rows if row[i] is not None] for i in (1, 2))
        print(f"| {name} | {kind} | {len(rows)} | {count['whole']} | {count['not begun (5)']} | "
              f"{max(found, default=0):.1f} s | {max(over, default=0):.1f} s | "
              f"{100 * max(row[3] for row in rows) / TOTAL:.0f} % |")


def own_options(parser):
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--kinds", default=",".join(KINDS))


DRIVER = Driver(__doc__, own_options)
FIGURES = collections.defaultdict(list)
if not DRIVER.options.real_time:
    Town.more_environment["HAUL_DEAD_PEER_MS"] = str(DEAD_MS)
DRIVER.run([Way("push"), Way("pull")], cases, run_once, show)
