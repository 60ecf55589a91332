# Either side killed, at the calls that change the disk or say something and at random times: tests/fault/kill_points.py,
# kill_times.py.
load lib
load faults

@test "kill -9 before and after numbered calls of either side, eleven workloads" {
	faults kill_points.py 2 25
}

@test "kill -9 of either side at random times, eleven workloads" {
	faults kill_times.py 10 20
}
