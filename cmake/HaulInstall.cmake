# cmake --install: the two programs, hauld's units for the system and for users, and the manual pages.
include(GNUInstallDirs)
set(HAUL_SYSTEMD_DIR lib/systemd CACHE PATH "where systemd looks for units, below the prefix")

# The units name hauld's place, which is only known when it is installed (--prefix).
foreach(kind system user)
  set(unit_${kind} ${PROJECT_BINARY_DIR}/units/${kind}/hauld.service)
endforeach()
install(CODE "
  set(HAUL_BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/agent/hauld.service\" \"${unit_system}\" @ONLY)
  configure_file(\"${PROJECT_SOURCE_DIR}/agent/hauld.user.service\" \"${unit_user}\" @ONLY)")
install(FILES ${unit_system} DESTINATION ${HAUL_SYSTEMD_DIR}/system)
install(FILES ${unit_user} DESTINATION ${HAUL_SYSTEMD_DIR}/user)

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
