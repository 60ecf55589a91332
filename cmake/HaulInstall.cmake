# cmake --install: the two programs, hauld's units for the system and for users, and the manual pages.
include(GNUInstallDirs)
set(HAUL_SYSTEMD_DIR lib/systemd CACHE PATH "where systemd looks for units, below the prefix")

set(HAUL_BINDIR ${CMAKE_INSTALL_FULL_BINDIR})
configure_file(${PROJECT_SOURCE_DIR}/agent/hauld.service ${PROJECT_BINARY_DIR}/units/system/hauld.service @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/agent/hauld.user.service ${PROJECT_BINARY_DIR}/units/user/hauld.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/units/system/hauld.service DESTINATION ${HAUL_SYSTEMD_DIR}/system)
install(FILES ${PROJECT_BINARY_DIR}/units/user/hauld.service DESTINATION ${HAUL_SYSTEMD_DIR}/user)

foreach(program haul hauld)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[1-8])
foreach(page ${pages})
  get_filename_component(section ${page} LAST_EXT)
  string(SUBSTRING ${section} 1 1 section)
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
