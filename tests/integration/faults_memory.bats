# Each request for memory may fail, at either side: tests/fault/torture.py, torture_shake.c.
load lib
load faults

@test "memory that is refused: no crash, no false success" {
	faults torture.py 6 400
}

@test "memory that is refused in the handshake: both ends are told, nothing is left" {
	local points=250 seed=1
	if [ "$SCALE" = full ]; then points=2000 seed=$SEED; fi
	if [ "${HAUL_TEST_FAULTS:-}" = all ]; then points=0; fi
	"$HAUL_BUILD/tests/integration/haul_torture_shake" "$points" "$seed"
}
