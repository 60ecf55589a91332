# Each request for memory may fail, at either side: tests/fault/torture.py.
load lib
load faults

@test "memory that is refused: no crash, no false success" {
	faults torture.py 3 150
}
