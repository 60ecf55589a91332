# Mailboxes, channels, control links and the listener.
add_library(haul_net_fixture STATIC net_fixture.c link_town.c)
target_link_libraries(haul_net_fixture PUBLIC haul_agent PRIVATE haul_warnings)

haul_unit_test(mailbox LIBS haul_agent)
haul_unit_test(channel LIBS haul_net_fixture haul_agent)
haul_unit_test(admission LIBS haul_agent)
haul_unit_test(control_link LIBS haul_net_fixture haul_agent)
haul_unit_test(lane_dial LIBS haul_net_fixture haul_agent)
haul_unit_test(dial LIBS haul_net_fixture haul_agent)
haul_unit_test(control_link_pair LIBS haul_agent)
