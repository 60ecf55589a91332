#!/usr/bin/env python3
"""The n-th call that reads the source, changes the destination or writes to a socket fails, or does half.

Usage: errnos.py BUILD TOOLS WORK [--seed N] [--points N | --all] [--jobs N] [WORKLOAD...]

ENOSPC, EDQUOT, EIO, EINTR and short ones, ECONNRESET of sockets; with --all each of them at each point. No crash, a documented exit code; every file is old or new, nothing of the
source is lost, what was told as sent is there, exit 0 only with everything there (EINTR and short ones of reads and
writes are no fault at all: exit 0). The next run ends with 0 and equal trees.
Reports: D-01, D-02, D-06, R-14, S-04, S-06.
"""
from fault_driver import Driver
from fault_town import check_equal, tree, Plan, Wrong, DOCUMENTED
from fault_workloads import named
from kill_points import go_on, look

ON_DISK = ("ENOSPC", "EDQUOT", "EIO", "EINTR", "short")
ON_READ = ("EIO", "EINTR", "short")
DEEDS = {"disk": ON_DISK, "read": ON_READ, "net": ("ECONNRESET",)}


def ends(workload):
    """Which process writes, which reads; both speak."""
    if workload.is_local:
        return [("haul", "disk"), ("haul", "read")]
    writer, reader = ("haul", "hauld") if workload.is_pull else ("hauld", "haul")
    return [(writer, "disk"), (reader, "read"), ("haul", "net"), ("hauld", "net")]


def run_once(workload, process, kind, at, deed):
    town = workload.town
    root = workload.dest_top if kind == "disk" else workload.source_top
    if workload.is_move and kind == "disk":
        root += ":" + workload.source_top
    plan = Plan(kind, root, at, deed)
    if workload.needs_agent() and not town.start_agent(plan if process == "hauld" else None):
        raise Wrong("hauld did not start")
    code, events, text, counts = town.finish(
        [town.begin(args, plan if process == "haul" else None) for args in workload.patient_commands()][0])
    if workload.needs_agent():
        agent_code, own = town.stop_agent()
        counts = own if process == "hauld" else counts
        if agent_code:
            raise Wrong(f"hauld ended with {agent_code}")
    if code not in DOCUMENTED:
        raise Wrong(f"haul ended with {code}: {text}")
    return [(code, events, text)], counts


def cases(workload, driver):
    for process, kind in ends(workload):
        workload.reset()
        results, (calls, _) = run_once(workload, process, kind, 0, "")
        if results[0][0]:
            raise Wrong(f"{workload.name} without a fault: {results}")
        print(f"  {workload.name}, {process}: {calls} calls ({kind})", flush=True)
        for at in driver.sample(workload, calls):
            for deed in DEEDS[kind] if driver.options.all else (workload.rng.choice(DEEDS[kind]),):
                yield (process + " " + kind, at, deed)


def run_case(workload, case):
    (process, kind), at, deed = case[0].split(), case[1], case[2]
    workload.reset()
    results, (_, hits) = run_once(workload, process, kind, at, deed)
    look(workload, results)
    code, _, text = results[0]
    if code == 0:
        check_equal(tree(workload.dest_top), workload.new)
    if not hits:
        return "not reached"
    if deed == "short" and code:
        raise Wrong(f"half of what was asked is no fault: exit {code}: {text}")
    go_on(workload)
    return f"{deed} exit {code}"


if __name__ == "__main__":
    Driver(__doc__).run(named("overwrite", "nested", "pull", "move", "links", "mixed"), cases, run_case)
