# Calls that read the source or change the destination fail or do half: tests/fault/errnos.py.
load lib
load faults

@test "calls that fail with ENOSPC, EDQUOT, EIO, EINTR, or do half: no file lost or falsely reported" {
	faults errnos.py 2 60
}
