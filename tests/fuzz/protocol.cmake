haul_fuzz_target(message SOURCES message_fuzz.c LIBS haul_protocol)
haul_fuzz_target(control_session SOURCES control_session_fuzz.c ../unit/control_pair.c LIBS haul_protocol)
haul_fuzz_target(lane_session SOURCES lane_session_fuzz.c LIBS haul_protocol)
