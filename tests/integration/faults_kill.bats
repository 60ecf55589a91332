# Either side killed at the calls that change the disk or say something: tests/fault/kill_points.py.
load lib
load faults

@test "kill -9 before and after numbered calls of either side, ten workloads" {
	faults kill_points.py 2 25
}
