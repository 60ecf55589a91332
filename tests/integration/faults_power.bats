# What a power cut may leave, recorded and enumerated: tests/fault/power_cut.py, power_settings.py, crash_model.py.
load lib
load faults

@test "the enumerator can say no: programs that forget a sync are found out" {
	need_tool python3
	PYTHONDONTWRITEBYTECODE=1 python3 "$FAULTS/crash_model_test.py"
}

@test "power cut after any call: no state of ext4, XFS or btrfs breaks the guarantee" {
	if [ "${HAUL_TEST_FAULTS:-}" = all ]; then
		faults power_cut.py 400 400 --large
	else
		faults power_cut.py 30 100
	fi
}

@test "power cut while identity, shares and peers are written: old or new, and the same device" {
	faults power_settings.py 40 400
}
