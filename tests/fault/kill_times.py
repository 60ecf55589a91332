#!/usr/bin/env python3
"""Kill either side at a random time of a job.

Usage: kill_times.py BUILD TOOLS WORK [--seed N] [--points N] [--jobs N] [WORKLOAD...]

N times for each of the eleven workloads: run, kill -9 of haul or hauld after a random part of the time that the job takes
without a fault (well under half a second), look, run again, as kill_points.py does. Half of the dead agents come back at
once, and a job that had begun goes on by itself. The next run sends no byte of a file that was whole at
its name when the process died: so never more than what was not durable.
"""
import time

from fault_driver import Driver
from fault_town import check_equal, tree, Wrong, DOCUMENTED
from fault_workloads import all_workloads
from kill_points import go_on, look


def run_once(workload, kill=None):
    """kill: (process, seconds after the start, whether the agent comes back). Exit codes, events and texts; seconds."""
    town = workload.town
    process, after_s, comes_back = kill or ("", 0, False)
    if workload.needs_agent():
        town.start_agent()
    began = time.monotonic()
    commands = workload.patient_commands() if comes_back or not kill else workload.commands()
    begun = [town.begin(args) for args in commands]
    if kill:
        time.sleep(max(0, began + after_s - time.monotonic()))
        if process == "hauld":
            town.close()
            if comes_back:
                town.start_agent()
        else:
            begun[0][0].kill()
    results = [town.finish(one)[:3] for one in begun]
    took_s = time.monotonic() - began
    if town.agent:
        code, _ = town.stop_agent()
        if code:
            raise Wrong(f"hauld ended with {code}")
    return results, took_s


def cases(workload, driver):
    workload.reset()
    run_once(workload)  # what is slow the first time
    workload.reset()
    results, took_s = run_once(workload)
    if any(code for code, _, _ in results):
        raise Wrong(f"{workload.name} without a fault: {results}")
    print(f"  {workload.name}: {took_s * 1000:.0f} ms without a fault", flush=True)
    for i in range(driver.options.points):
        process = workload.rng.choice(("haul", "hauld") if workload.needs_agent() else ("haul",))
        comes_back = process == "hauld" and workload.rng.random() < 0.5
        yield (process, int(workload.rng.uniform(0, took_s) * 1e6), "back" if comes_back else "dead")


def missing_bytes(workload):
    """Of the files that are not at their names yet, whole and with their times."""
    there = tree(workload.dest_top)
    return sum(len(entry[1]) for path, entry in workload.source.items()
               if entry[0] == "file" and (there.get(path) or ())[:3] != entry[:3])


def check_codes(workload, kill, results):
    for i, (code, events, text) in enumerate(results):
        if code not in DOCUMENTED and not (kill[0] == "haul" and i == 0 and code == -9):
            raise Wrong(f"haul ended with {code}: {text}")
        if kill[2] == "back" and code and any(event.get("event") == "progress" for event in events):
            raise Wrong(f"the agent came back, and haul ended with {code}: {text}")
    if not any(code for code, _, _ in results):
        check_equal(tree(workload.dest_top), workload.new)


def run_case(workload, case):
    workload.reset()
    results, _ = run_once(workload, (case[0], case[1] / 1e6, case[2] == "back"))
    look(workload, results)
    check_codes(workload, case, results)
    may_send = missing_bytes(workload)
    sent = sum(event.get("bytes_sent", 0) for event in go_on(workload) if event.get("event") == "done")
    if sent > may_send:
        raise Wrong(f"{sent} bytes were sent again, of {may_send} that were missing")
    died = case[0] == "hauld" or results[0][0] == -9
    return f"{case[0]} {case[2]}" if died else "over before"


if __name__ == "__main__":
    Driver(__doc__).run(all_workloads(), cases, run_case)
