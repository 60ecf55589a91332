haul_unit_test(pool LIBS haul_engine)
haul_unit_test(disk_file LIBS haul_engine)
haul_unit_test(engine_request LIBS haul_engine)
haul_unit_test(engine LIBS haul_engine)
