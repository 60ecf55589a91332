# What a power cut may leave, recorded and enumerated: tests/fault/power_cut.py, crash_model.py.
load lib
load faults

@test "the enumerator can say no: programs that forget a sync are found out" {
	need_tool python3
	PYTHONDONTWRITEBYTECODE=1 python3 "$FAULTS/crash_model_test.py"
}

@test "power cut after any call: no state of ext4, XFS or btrfs breaks the guarantee" {
	faults power_cut.py 30 700
}
