#!/usr/bin/env python3
"""The n-th request for memory fails, in haul or in hauld; mbedTLS's apart, which are haul_torture_shake's.

Usage: torture.py BUILD TOOLS WORK [--seed N] [--points N | --all] [--jobs N] [WORKLOAD...]

Over five scenarios. No crash, no hang, an exit code of the documented ones; whatever was told as sent is there and
every file is old or new; exit 0 only with everything there. hauld lives on, or ends by itself with a documented code
when it was still starting. Every third case goes on without a fault to exit 0 and equal trees.
"""
import functools
import os

from fault_driver import Driver
from fault_town import check_equal, part_of, tree, Plan, Wrong, DOCUMENTED
from fault_workloads import named, Workload, many_small, overwrite
from kill_points import go_on, look

PROCESSES = ("haul", "hauld")


@functools.cache
def tls_of(town, process):
    return part_of(town.program(process), [os.path.join(town.build, f"libhaul_mbed{name}.a") for name in ("crypto", "tls", "x509")],
                   {"mbedtls_mpi_grow", "mbedtls_ssl_handshake_step", "mbedtls_x509_crt_parse"})


def run_once(workload, process, at, deed="ENOMEM"):
    town = workload.town
    plan = Plan("memory", "", at, deed, spared=tls_of(town, process))
    if workload.needs_agent() and not town.start_agent(plan if process == "hauld" else None):
        check_code(town.agent_code, "hauld at its start")
        return None, (0, 1)
    begun = [town.begin(args, plan if process == "haul" else None) for args in (workload.commands() if at else workload.patient_commands())]
    code, events, text, counts = town.finish(begun[0])
    if workload.needs_agent():
        agent_code, own = town.stop_agent()
        counts = own if process == "hauld" else counts
        check_code(agent_code, "hauld")
        if process == "haul" and agent_code:
            raise Wrong(f"hauld ended with {agent_code}")
    check_code(code, f"haul ({text.strip()})")
    return [(code, events, text)], counts


def check_code(code, who):
    if code not in DOCUMENTED:
        raise Wrong(f"{who} ended with {code}")


def scenarios():
    return named("mixed", "pull", "move") + [Workload("small there", many_small),
                                             Workload("copy here", overwrite, is_local=True)]


def cases(workload, driver):
    for process in PROCESSES:
        if process == "hauld" and not workload.needs_agent():
            continue
        workload.reset()
        results, (calls, _) = run_once(workload, process, 0)
        if results[0][0]:
            raise Wrong(f"{workload.name} without a fault: {results}")
        print(f"  {workload.name}, {process}: {calls} requests for memory", flush=True)
        yield from ((process, at, "ENOMEM") for at in driver.sample(workload, calls))


def run_case(workload, case):
    process, at, deed = case
    workload.reset()
    results, (_, hits) = run_once(workload, process, at, deed)
    look(workload, results or [])
    if results and results[0][0] == 0:
        check_equal(tree(workload.dest_top), workload.new)
    if not hits:
        return "not reached"
    if at % 3 == 0:
        go_on(workload)
    return f"{process} exit {results[0][0] if results else 'at start'}"


if __name__ == "__main__":
    Driver(__doc__).run(scenarios(), cases, run_case)
