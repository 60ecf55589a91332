#!/usr/bin/env python3
"""Kill either side before or after its n-th call that changes the disk or says something to the other side.

Usage: kill_points.py BUILD TOOLS WORK [--seed N] [--points N | --all] [--jobs N] [WORKLOAD...]

Each workload runs once without a fault, to count the points of both processes; then once for each of a sample of them, with --all before and after each:
run, die, look (every file old or new, nothing of the source lost, what was told as sent is there), run again without a
fault: exit 0, the trees equal, nothing of haul's left. Exit 1 when one did not hold; each is told with its command line.
Reports: R-10, R-01, R-05, R-11, D-09, D-10, S-06, S-13.
"""
import os

from fault_driver import Driver
from fault_town import (check_equal, check_old_or_new, check_reported, content_of, private_names, tree, Plan, Wrong,
                        DOCUMENTED)
from fault_workloads import all_workloads

PROCESSES = ("haul", "hauld")
DEEDS = ("kill-before", "kill-after")


def plan_of(workload, process, at=0, deed=""):
    root = ":".join({workload.source_top, workload.dest_top}) if workload.is_move else workload.dest_top
    return Plan("disk,net", root, at, deed)


def run_once(workload, process, at, deed):
    """The faulty run. Exit codes of the commands, their events, (calls, hits) of the process."""
    town = workload.town
    plan = plan_of(workload, process, at, deed)
    agent_plan = plan if process == "hauld" else None
    results, counts = [], (0, 0)
    if workload.needs_agent() and not town.start_agent(agent_plan):
        return [], (0, 1)
    begun = [town.begin(args, plan if process == "haul" and i == 0 else None)
             for i, args in enumerate(workload.commands() if at else workload.patient_commands())]
    for i, one in enumerate(begun):
        code, events, text, own = town.finish(one)
        if i == 0 and process == "haul":
            counts = own
        results.append((code, events, text))
    if workload.needs_agent():
        code, own = town.stop_agent()
        if process == "hauld":
            counts = own
        elif code != 0:
            raise Wrong(f"hauld ended with {code}")
    return results, counts


def look(workload, results):
    there = tree(workload.dest_top)
    check_old_or_new(there, workload.old, workload.new)
    workload.check_source(there)
    for _, events, _ in results:
        check_reported(events, there, workload.new)
    spoken = workload.town.sanitizer_spoke("".join(text for _, _, text in results))
    if spoken:
        raise Wrong(spoken)


def remove_asides(workload):
    """What docs/DURABILITY.md "Move" asks of the user after a kill between setting aside and unlinking: of files under
    private names those go that are there, whole, at the destination."""
    arrived, removed = [content_of(entry) for entry in tree(workload.dest_top).values()], 0
    for path in private_names(workload.source_top) if workload.is_move else []:
        with open(path, "rb") as file:
            is_there = ("file", file.read()) in arrived
        if os.path.basename(path).startswith(".haul-aside-") and is_there:
            os.unlink(path)
            removed += 1
    return removed


def go_on(workload, may_keep=False):
    """Again, without a fault; its events. Of a move there may be nothing left to do. may_keep: partials may stay for a
    later job."""
    town, told = workload.town, []
    source = tree(workload.source_top)
    if workload.needs_agent():
        town.start_agent()
    for name, args in zip(workload.names(), workload.patient_commands()):
        if workload.is_move and name not in source:
            continue
        code, events, text, _ = town.haul(args)
        told += events
        if code == 3 and remove_asides(workload):
            code, events, text, _ = town.haul(args)
            told += events
        if code != 0:
            raise Wrong(f"the next run ended with {code}: {text}")
    if workload.needs_agent():
        code, _ = town.stop_agent()
        if code != 0:
            raise Wrong(f"hauld ended with {code}")
    there = tree(workload.dest_top)
    check_equal(there, workload.new)
    workload.check_source(there)
    left = private_names(workload.dest_top)
    if workload.is_move and not source:
        return told  # everything had gone: nobody has looked into the destination again
    if left and not (may_keep and os.path.isdir(os.path.join(workload.dest_top, ".haul", "partials"))):
        raise Wrong(f"left behind: {left}")
    return told


def count_points(workload):
    for process in PROCESSES:
        if process == "hauld" and not workload.needs_agent():
            continue
        workload.reset()
        results, (calls, _) = run_once(workload, process, 0, "")
        if any(code for code, _, _ in results):
            raise Wrong(f"{workload.name} without a fault: {results}")
        look(workload, results)
        yield process, calls


def cases(workload, driver):
    for process, calls in count_points(workload):
        for at in driver.sample(workload, calls):
            for deed in DEEDS if driver.options.all else (workload.rng.choice(DEEDS),):
                yield (process, at, deed)


def check_codes(workload, results, process):
    """Only the process that was killed has no exit code of its own; 0 of all is only for a job that is done."""
    for i, (code, _, text) in enumerate(results):
        if code not in DOCUMENTED and not (process == "haul" and i == 0 and code == -9):
            raise Wrong(f"haul ended with {code}: {text}")
    if results and not any(code for code, _, _ in results):
        check_equal(tree(workload.dest_top), workload.new)


def run_case(workload, case):
    workload.reset()
    results, (_, hits) = run_once(workload, *case)
    look(workload, results)
    check_codes(workload, results, case[0])
    if not hits:
        return "not reached"
    go_on(workload)
    return case[0]


if __name__ == "__main__":
    Driver(__doc__).run(all_workloads(), cases, run_case)
