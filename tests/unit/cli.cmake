# The command line: sizes, options, what is printed.
haul_unit_test(sizes LIBS haul_cli)
haul_unit_test(options LIBS haul_cli)
haul_unit_test(copy_request LIBS haul_cli)
haul_unit_test(json LIBS haul_cli)
haul_unit_test(progress LIBS haul_cli)
haul_unit_test(summary LIBS haul_cli)
haul_unit_test(transfer_view LIBS haul_cli)
haul_unit_test(own_address LIBS haul_agent)
