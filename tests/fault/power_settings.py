#!/usr/bin/env python3
"""Record how a home's own files are written, and look at every state that a power cut might leave of them.

Usage: power_settings.py BUILD TOOLS WORK [--seed N] [--points STATES] [--models M,...]

A series of commands makes an identity, shares and peers in a fresh home and changes them. In each state every file is
wholly as one of the commands left it, of a command that has ended nothing is missing, a certificate is never without its
key, and from some states haul goes on: with the same device id once one was told.
"""
import json
import os
import random
import re

from crash_model import History, State
from fault_driver import Driver
from fault_town import clear, put, tree, Plan, Wrong
from power_cut import TRIES, SYNC_MS

ON_THE_WAY = re.compile(r"(^|/)\.[a-z.]+\.new-[0-9a-f]{16}$")  # until it gets its name


class Settings:
    """A home, the commands, and the trees that they left: versions[k] is after k of them."""

    name = "settings"

    def settle(self, town):
        self.town, self.home = town, town.path("settings")
        return self

    def close(self):
        pass

    def commands(self):
        other, third = self.town.ids[self.town.a], self.town.ids[self.town.b]
        share = self.town.share
        yield ["id"]
        yield ["share", "add", "one", share]
        yield ["peer", "add", other, "--name", "first", "--address", "127.0.0.1:1"]
        yield ["share", "add", "two", share, "--keep-partials", "3"]
        yield ["peer", "allow", "first", "one=writer"]
        yield ["peer", "add", third, "--name", "second"]
        yield ["peer", "allow", "second", "two=mirror"]
        yield ["share", "remove", "one"]
        yield ["peer", "remove", "first"]
        yield ["share", "add", "one", self.town.work]
        yield ["peer", "add", other, "--name", "first"]
        yield ["share", "remove", "two"]

    def record(self):
        """The history of all commands, and when each had ended."""
        if os.path.isdir(self.home):
            clear(self.home)
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        history, self.versions, self.ended = History([self.home]), [tree(self.home)], []
        for i, args in enumerate(self.commands()):
            log = self.town.path(f"log{i}")
            plan = Plan("disk", self.home, log=log, sync_ms=SYNC_MS)
            told = self.town.run_plain(self.home, *args, plan=plan)
            self.ended.append(told.ended_ns)
            if os.path.exists(log):
                history.read(log)
            self.versions.append(tree(self.home))
        self.device_id = self.id_of()
        return history

    def id_of(self):
        return json.loads(self.town.run_plain(self.home, "id", "--json").stdout)["device_id"]


def content_in(version, path):
    entry = version.get(path)
    return entry[:2] if entry else None


def check(settings, history, upto, there):
    now = history.calls[upto].end if upto < len(history.calls) else float("inf")
    ended = sum(when < now for when in settings.ended)
    for path in set(there).union(*settings.versions):
        if ON_THE_WAY.search(path):
            continue
        if there.get(path) not in [content_in(version, path) for version in settings.versions[ended:]]:
            raise Wrong(f"{path} is none of what {ended} commands and those after them left, after {upto} calls")
    if "identity.crt" in there and "identity.key" not in there:
        raise Wrong(f"a certificate without its key after {upto} calls")
    return ended


def go_on(settings, there, ended):
    clear(settings.home)
    for path, entry in sorted(there.items()):
        full = os.path.join(settings.home, path)
        if entry[0] == "dir":
            os.makedirs(full, mode=0o700, exist_ok=True)
        else:
            put(full, entry[1])
            os.chmod(full, 0o600)
    if settings.id_of() != settings.device_id and ended:
        raise Wrong("it is another device afterwards")
    settings.town.run_plain(settings.home, "share", "add", "after", settings.town.share)
    settings.town.run_plain(settings.home, "peer", "list")


def cases(settings, driver):
    settings.history, settings.wanted = settings.record(), driver.options.points
    print(f"  {settings.name}: {len(settings.history.calls)} calls recorded", flush=True)
    yield from ((model, 0, "states") for model in driver.options.models.split(","))


def run_case(settings, case):
    history, model, seen, cache = settings.history, case[0], set(), {}
    calls = len(history.calls)
    for attempt in range(TRIES * settings.wanted):
        upto = attempt % (calls + 1)
        there, key = State(history, model, upto, random.Random(settings.rng.getrandbits(64))).walk(settings.home, cache)
        if key in seen:
            continue
        seen.add(key)
        ended = check(settings, history, upto, there)
        if len(seen) % 20 == 1:
            go_on(settings, there, ended)
        if len(seen) == settings.wanted:
            break
    print(f"  {settings.name}, {model}: {len(seen)} different states", flush=True)
    return f"{model} models"


if __name__ == "__main__":
    Driver(__doc__).run([Settings()], cases, run_case)
