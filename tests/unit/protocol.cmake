haul_unit_test(codec SOURCES message_samples.c LIBS haul_protocol haul::msgpack)
haul_unit_test(codec_bounds SOURCES message_samples.c LIBS haul_protocol haul::msgpack)
