"""Options, workers and the report of the programs that run a fault after the other."""
import argparse
import collections
import os
import queue
import random
import sys
import threading
import time
import traceback

from fault_town import sample, Town, Wrong


class Driver:
    def __init__(self, usage, own_options=None):
        parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("build")
        parser.add_argument("tools")
        parser.add_argument("work")
        parser.add_argument("workloads", nargs="*")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--points", type=int, default=3, help="of each process of a workload")
        parser.add_argument("--all", action="store_true", help="every point")
        parser.add_argument("--jobs", type=int, default=2, help="towns side by side")
        parser.add_argument("--models", default="ext4,xfs,btrfs", help="of power_cut.py")
        parser.add_argument("--large", action="store_true", help="power_cut.py: more and larger workloads")
        parser.add_argument("--only", help="PROCESS:N:DEED, one case alone")
        if own_options:
            own_options(parser)
        self.options = parser.parse_intermixed_args()
        for name in ("build", "tools", "work"):
            setattr(self.options, name, os.path.abspath(getattr(self.options, name)))
        self.tally, self.failures = collections.Counter(), []

    def sample(self, workload, total):
        return sample(total, None if self.options.all else self.options.points, workload.rng)

    def _cases(self, workload, cases):
        if self.options.only:
            process, at, deed = self.options.only.split(":")
            return [(process, int(at), deed)]
        return list(cases(workload, self))

    def _work(self, number, todo, cases, run_case):
        town = Town(os.path.join(self.options.work, f"town{number}"), self.options.build, self.options.tools)
        try:
            while True:
                try:
                    workload = todo.get_nowait()
                except queue.Empty:
                    return
                self._run_workload(workload.settle(town), cases, run_case)
                workload.close()
        finally:
            town.close()

    def _run_workload(self, workload, cases, run_case):
        began, done = time.monotonic(), 0
        workload.rng = random.Random(f"{self.options.seed} {workload.name}")
        try:
            for case in self._cases(workload, cases):
                done += 1
                try:
                    what = run_case(workload, case)
                except Wrong as wrong:
                    what = "failed"
                    self.failures.append((workload.name, case, wrong))
                    print(f"FAILED {workload.name}: --only {':'.join(map(str, case))}: {wrong}", flush=True)
                    workload.town.close()
                self.tally[what] += 1
        except Wrong as wrong:
            self.failures.append((workload.name, "without a fault", wrong))
            print(f"FAILED {workload.name}: {wrong}", flush=True)
            workload.town.close()
        except Exception:  # a fault of the driver's own must not pass for a good run
            traceback.print_exc()
            self.failures.append((workload.name, "driver", None))
            workload.town.close()
        print(f"{workload.name}: {done} cases, {time.monotonic() - began:.1f} s", flush=True)

    def run(self, workloads, cases, run_case, show=None):
        todo = queue.Queue()
        for workload in workloads:
            if not self.options.workloads or workload.name in self.options.workloads:
                todo.put(workload)
        workers = [threading.Thread(target=self._work, args=(i, todo, cases, run_case))
                   for i in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if show:
            show()
        print("total:", ", ".join(f"{count} {what}" for what, count in sorted(self.tally.items())))
        reached = sum(count for what, count in self.tally.items() if what not in ("failed", "not reached"))
        sys.exit(1 if self.failures or not reached else 0)
