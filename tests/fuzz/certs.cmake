haul_fuzz_target(device_id SOURCES device_id_fuzz.c LIBS haul_certs)
haul_fuzz_target(peers_file SOURCES peers_file_fuzz.c LIBS haul_certs)
