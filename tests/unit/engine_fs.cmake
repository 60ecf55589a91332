# Digests, scan, arrival and path safety of the engine.
haul_unit_test(hash_tree LIBS haul_engine)
haul_unit_test(leaf_hash LIBS haul_engine)
haul_unit_test(entry_digest LIBS haul_engine)
haul_unit_test(beneath LIBS haul_engine Threads::Threads)
haul_unit_test(owner LIBS haul_engine)
haul_unit_test(partial LIBS haul_engine Threads::Threads)
haul_unit_test(follow LIBS haul_engine)
haul_unit_test(scan LIBS haul_engine)
