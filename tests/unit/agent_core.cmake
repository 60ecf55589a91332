# The parts of a job: queues, workers, what looks at the destination, what gives names.
haul_unit_test(index_map LIBS haul_agent)
haul_unit_test(block_queue LIBS haul_agent)
haul_unit_test(rate_limit LIBS haul_agent)
haul_unit_test(mail LIBS haul_agent)
haul_unit_test(landing LIBS haul_agent)
haul_unit_test(commit LIBS haul_agent)
haul_unit_test(source_scan LIBS haul_agent)
