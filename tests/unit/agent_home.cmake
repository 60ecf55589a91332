# Home, shares, peers, places, what a server answers, and hauld.
add_library(haul_test_directory STATIC temp_directory.c)
target_link_libraries(haul_test_directory PRIVATE haul::cmocka haul_warnings)

haul_unit_test(place_spec LIBS haul_agent)
haul_unit_test(home LIBS haul_agent haul_test_directory)
haul_unit_test(shares LIBS haul_agent haul_test_directory)
haul_unit_test(peers LIBS haul_agent haul_test_directory)
haul_unit_test(quota LIBS haul_agent haul_test_directory)
haul_unit_test(peer_error LIBS haul_agent)
haul_unit_test(serve_ask LIBS haul_agent haul_test_directory)
haul_unit_test(hauld_options LIBS haul_agent haul_test_directory
               SOURCES ${PROJECT_SOURCE_DIR}/agent/hauld_options.c ${PROJECT_SOURCE_DIR}/agent/notify.c)
haul_unit_test(hauld LIBS haul_agent haul_test_directory)
target_compile_definitions(hauld_test PRIVATE HAULD_PROGRAM="$<TARGET_FILE:hauld>")
add_dependencies(hauld_test hauld)
haul_unit_test(note_file LIBS haul_agent)
haul_unit_test(mover LIBS haul_agent)
haul_unit_test(copy_lock LIBS haul_agent haul_test_directory)
