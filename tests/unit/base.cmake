haul_unit_test(floor LIBS haul_base)
haul_unit_test(escape LIBS haul_base)
haul_unit_test(record_file LIBS haul_base)
haul_unit_test(output_file LIBS haul_base)
