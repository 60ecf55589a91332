haul_fuzz_target(leaf_record SOURCES leaf_record_fuzz.c LIBS haul_engine)
