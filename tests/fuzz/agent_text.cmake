haul_fuzz_target(place SOURCES place_fuzz.c LIBS haul_agent)
haul_fuzz_target(peer_error SOURCES peer_error_fuzz.c LIBS haul_agent)
haul_fuzz_target(ignore SOURCES ignore_fuzz.c LIBS haul_agent)
