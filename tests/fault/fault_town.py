"""Two homes on this machine, trees to send between them, and what has to hold after a fault.

A is the home of whoever types `haul`, B that of a hauld which offers a directory as inbox. Every program runs with the
back end of threads, because the preloaded libraries cannot see what a ring is asked to do.
"""
import json
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time

LIMIT_S = 60
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}


class Wrong(Exception):
    """Something that must not be."""


def read_count(path):
    """How many calls there were, and whether one was hit."""
    try:
        with open(path, "rb") as file:
            return struct.unpack("=QQ", file.read(16))
    except (OSError, struct.error):
        return 0, 0


def functions_of(*files):
    """(address, name) of each, in the order of addresses."""
    for file in files:
        listed = subprocess.run(["nm", "-n", file], capture_output=True, text=True, check=True).stdout
        for fields in map(str.split, listed.splitlines()):
            if len(fields) == 3 and fields[1] in "tTW":
                yield int(fields[0], 16), fields[2]


def part_of(program, libraries, must_have):
    """FROM-TO, in hexadecimal: where in the program these static libraries lie, the longest run of their functions."""
    names, runs, run = {name for _, name in functions_of(*libraries)}, [], []
    for address, name in functions_of(program):
        if name in names:
            run.append((address, name))
        elif run:
            runs.append((run, address))
            run = []
    run, end = max(runs, key=lambda one: one[1] - one[0][0][0])
    if not must_have <= {name for _, name in run}:
        raise Wrong(f"where {libraries} lie in {program} is not known")
    return f"{run[0][0]:x}-{end:x}"


class Plan:
    """What befalls one process; see fault_plan.h."""

    def __init__(self, kinds, root, at=0, deed="", log=None, sync_ms=0, spared=""):
        self.kinds, self.root, self.at, self.deed, self.log, self.sync_ms = kinds, root, at, deed, log, sync_ms
        self.spared = spared  # FROM-TO: a part of the program whose requests for memory do not count

    def environment(self, tools, sanitized, count):
        library = "libhaul_fault_memory.so" if self.kinds == "memory" else "libhaul_fault_calls.so"
        env = {"LD_PRELOAD": os.path.join(tools, library), "HAUL_FAULT_KINDS": self.kinds, "HAUL_FAULT_ROOT": self.root,
               "HAUL_FAULT_AT": str(self.at), "HAUL_FAULT_DEED": self.deed, "HAUL_FAULT_COUNT": count,
               "HAUL_FAULT_SYNC_MS": str(self.sync_ms)}
        if self.spared:
            env["HAUL_FAULT_SPARED"] = self.spared
        if self.log:
            env["HAUL_FAULT_LOG"] = self.log
        if sanitized:
            # The library may stand before the sanitizer's: it calls the next, or the kernel.
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
        return env


class Town:
    """Homes, a share and one agent at a time, all below one directory."""
    more_environment = {}  # of every program, from a driver

    def __init__(self, work, build, tools):
        self.work, self.build, self.bin, self.tools = work, build, os.path.join(build, "bin"), tools
        self.a, self.b, self.share = (os.path.join(work, name) for name in ("a", "b", "share"))
        self.agent, self.port, self.plan_number = None, 0, 0
        os.makedirs(self.share)
        os.makedirs(os.path.join(work, "home"))
        libraries = subprocess.run(["ldd", self.program("haul")], capture_output=True, text=True, check=True).stdout
        self.sanitized = "libasan" in libraries
        self.ids = ids = {home: json.loads(self.run_plain(home, "id", "--json").stdout)["device_id"]
                          for home in (self.a, self.b)}
        self.b_id = ids[self.b]
        self.run_plain(self.b, "share", "add", "inbox", self.share)
        self.run_plain(self.b, "peer", "add", ids[self.a], "--name", "edit1", "--allow", "inbox=writer")
        self.start_agent()
        self.run_plain(self.a, "peer", "add", ids[self.b], "--name", "nas", "--address", f"127.0.0.1:{self.port}")
        self.stop_agent()

    def reach(self, port):
        """From now on A finds B at this port."""
        self.run_plain(self.a, "peer", "remove", "nas")
        self.run_plain(self.a, "peer", "add", self.ids[self.b], "--name", "nas", "--address", f"127.0.0.1:{port}")

    def program(self, name):
        return os.path.join(self.bin, name)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def environment(self, home, plan):
        env = {key: value for key, value in os.environ.items() if not key.startswith("HAUL_")}
        env.update(HOME=self.path("home"), HAUL_HOME=home, HAUL_ENGINE="threads", **self.more_environment)
        count = ""
        if plan:
            self.plan_number += 1
            count = self.path(f"count.{self.plan_number}")
            env.update(plan.environment(self.tools, self.sanitized, count))
        return env, count

    def run_plain(self, home, *args, plan=None):
        env, _ = self.environment(home, plan)
        done = subprocess.run([self.program("haul"), *args], env=env, capture_output=True, text=True, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Wrong(f"haul {args}: exit {done.returncode}: {done.stderr}")
        done.ended_ns = time.monotonic_ns()
        return done

    def start_agent(self, plan=None):
        """False: it ended before it listened, which only one with a fault may do."""
        env, self.agent_count = self.environment(self.b, plan)
        with open(self.path("b.err"), "ab") as errors:
            self.agent = subprocess.Popen([self.program("hauld"), "--listen", f"127.0.0.1:{self.port}"], env=env,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        for line in self.agent.stdout:
            if line.startswith(b"listening "):
                self.port = int(line.rsplit(b":", 1)[1])
                return True
        self.agent_code = self.agent.wait(LIMIT_S)
        self.agent.stdout.close()
        self.agent = None
        if not plan:
            raise Wrong(f"hauld ended with {self.agent_code} before it listened")
        return False

    def stop_agent(self):
        """Its exit code; how many calls it made, and whether one was hit."""
        if not self.agent:
            return None, read_count(self.agent_count)
        self.agent.send_signal(signal.SIGTERM)
        try:
            code = self.agent.wait(20)
        except subprocess.TimeoutExpired as late:
            self.agent.send_signal(signal.SIGABRT)
            self.agent.wait(LIMIT_S)
            raise Wrong("hauld did not stop on SIGTERM within 20 s") from late
        finally:
            self.agent.stdout.close()
            self.agent = None
        return code, read_count(self.agent_count)

    def begin(self, args, plan=None, home=None):
        """`haul` in the background; finish() takes what this gives."""
        env, count = self.environment(home or self.a, plan)
        errors = tempfile.TemporaryFile(dir=self.work)  # closed by finish()
        run = subprocess.Popen([self.program("haul"), args[0], "--json", *args[1:]], env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=errors, cwd=self.work)
        return run, errors, count, args

    @staticmethod
    def finish(begun):
        """Exit code, events, text of stderr, (calls, hits)."""
        run, errors, count, args = begun
        try:
            out, _ = run.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired as late:
            run.send_signal(signal.SIGABRT)
            run.communicate()
            raise Wrong(f"haul {args} hangs") from late
        errors.seek(0)
        text = errors.read().decode(errors="replace")
        errors.close()
        events = []
        for line in out.decode(errors="replace").splitlines():
            try:
                events.append(json.loads(line))
            except ValueError:
                if run.returncode >= 0:
                    raise Wrong(f"not an event: {line}") from None
        return run.returncode, events, text, read_count(count)

    def haul(self, args, plan=None):
        return self.finish(self.begin(args, plan))

    def close(self):
        if self.agent:
            self.agent.kill()
            self.agent.wait()
            self.agent.stdout.close()
            self.agent = None

    def sanitizer_spoke(self, text=""):
        with open(self.path("b.err"), "r+", errors="replace") as file:
            text += file.read()
            file.truncate(0)
        for word in ("Sanitizer", "runtime error:", "Assertion "):
            if word in text:
                return text[max(0, text.index(word) - 200):][:3000]
        return None


# --- trees ----------------------------------------------------------------------------------------------------------

def content(seed, size):
    return random.Random(f"{seed}").randbytes(size)


def put(path, data, when=None):
    """A file, or with data ("link", target) a link; `when` is its time in seconds."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if isinstance(data, tuple):
        os.symlink(data[1], path)
    else:
        with open(path, "wb") as file:
            file.write(data)
    if when is not None:
        os.utime(path, ns=(when * 1000000000 + 123456789,) * 2, follow_symlinks=False)


def is_private(name):
    return name == ".haul" or name.startswith((".haul.", ".haul-"))


def tree(top):
    """path -> ("dir",), ("link", target) or ("file", bytes, mtime, mode); haul's own names are left out."""
    found = {}
    for where, dirs, files in os.walk(top):
        dirs[:] = [name for name in dirs if not is_private(name)]
        for name in dirs + files:
            path = os.path.join(where, name)
            below = os.path.relpath(path, top)
            facts = os.lstat(path)
            if is_private(name):
                continue
            if stat.S_ISLNK(facts.st_mode):
                found[below] = ("link", os.readlink(path))
            elif stat.S_ISDIR(facts.st_mode):
                found[below] = ("dir",)
            else:
                with open(path, "rb") as file:
                    found[below] = ("file", file.read(), facts.st_mtime_ns, facts.st_mode & 0o7777)
    return found


def content_of(entry):
    """What of an entry is old or new: kind, and bytes or target."""
    return entry[:2] if entry else None


def private_names(top):
    """What is left of haul's own. A move's empty file that proves two directories apart may stay when it is killed."""
    found = [os.path.join(where, name) for where, dirs, files in os.walk(top) for name in dirs + files if is_private(name)]
    return [path for path in found if not os.path.basename(path).startswith(".haul-") or os.path.getsize(path)]


def clear(top):
    for name in os.listdir(top):
        path = os.path.join(top, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def copy_tree(source, to):
    shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)


def check_old_or_new(there, old, new):
    """Every name is wholly what it was before, or wholly what it shall be."""
    for path, entry in there.items():
        if content_of(entry) not in (content_of(old.get(path)), content_of(new.get(path))):
            raise Wrong(f"{path} is neither old nor new: {describe(entry)}; old {describe(old.get(path))}, "
                        f"new {describe(new.get(path))}")
    for path, entry in old.items():
        if path not in there:
            raise Wrong(f"{path} was there and is gone: {describe(entry)}")


def check_reported(events, there, new):
    """What was told as sent is there and new."""
    for event in events:
        if event.get("event") != "file" or event.get("outcome") != "proven" or event.get("kind") != "file":
            continue
        path = event["path"]
        if path not in new:
            raise Wrong(f"{path} was told as sent, and nobody knows it")
        if content_of(there.get(path)) != content_of(new[path]):
            raise Wrong(f"{path} was told as sent and is not there: {describe(there.get(path))}")


def check_equal(there, wanted):
    for path in sorted(set(there) | set(wanted)):
        if there.get(path) != wanted.get(path):
            raise Wrong(f"{path} differs: {describe(there.get(path))} instead of {describe(wanted.get(path))}")


def describe(entry):
    if entry and entry[0] == "file":
        return f"file of {len(entry[1])} bytes, time {entry[2]}, mode {entry[3]:o}"
    return str(entry)


def sample(total, count, rng):
    """`count` of 1..total, spread: one of each part."""
    if count is None or count >= total:
        return list(range(1, total + 1))
    return sorted({min(total, 1 + int((i + rng.random()) * total / count)) for i in range(count)})


def pause_until(what, seconds):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
