# Links that break at any byte, in every way tests/fault/link_faults.py knows; figures are in docs/TESTING.md.
load lib
load faults

@test "W-01, W-02, W-03, W-17: whatever befalls the link, the job arrives whole, or says why, and silence is found in time" {
	faults link_faults.py 5 60
}
