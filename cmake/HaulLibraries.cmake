# The libraries we stand on, as imported targets. Programs link everything but libc and libcrypto statically, so that
# they can be copied to a NAS: hence the archives are named here and not left to pkg-config.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
add_library(haul::crypto ALIAS OpenSSL::Crypto)

# haul_import(name HEADER file ARCHIVE name... PACKAGE debian-package [LIBS library...]):
# haul::name, a static library found by its archive, or header only when no ARCHIVE is given.
function(haul_import name)
  cmake_parse_arguments(arg "" "HEADER;PACKAGE" "ARCHIVE;LIBS" ${ARGN})
  find_path(HAUL_${name}_INCLUDE ${arg_HEADER})
  mark_as_advanced(HAUL_${name}_INCLUDE)
  if(NOT HAUL_${name}_INCLUDE)
    message(FATAL_ERROR "${arg_HEADER} not found: install ${arg_PACKAGE} (cmake/setup.sh installs all that is needed)")
  endif()
  if(arg_ARCHIVE)
    find_library(HAUL_${name}_ARCHIVE NAMES ${arg_ARCHIVE})
    mark_as_advanced(HAUL_${name}_ARCHIVE)
    if(NOT HAUL_${name}_ARCHIVE)
      message(FATAL_ERROR "${arg_ARCHIVE} not found: install ${arg_PACKAGE} (cmake/setup.sh installs all that is needed)")
    endif()
    add_library(haul::${name} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(haul::${name} PROPERTIES IMPORTED_LOCATION ${HAUL_${name}_ARCHIVE})
  else()
    add_library(haul::${name} INTERFACE IMPORTED GLOBAL)
  endif()
  target_include_directories(haul::${name} SYSTEM INTERFACE ${HAUL_${name}_INCLUDE})
  target_link_libraries(haul::${name} INTERFACE ${arg_LIBS})
endfunction()

haul_import(uv HEADER uv.h ARCHIVE libuv_a.a libuv.a PACKAGE libuv1-dev LIBS Threads::Threads dl rt)
haul_import(uring HEADER liburing.h ARCHIVE liburing.a PACKAGE liburing-dev)
haul_import(msgpack HEADER msgpack.h ARCHIVE libmsgpackc.a libmsgpack-c.a PACKAGE libmsgpack-dev)
haul_import(pcre2 HEADER pcre2.h ARCHIVE libpcre2-8.a PACKAGE libpcre2-dev)
haul_import(inih HEADER ini.h ARCHIVE libinih.a PACKAGE libinih-dev)
# Header only: users set XXH_INLINE_ALL, so that leaves are hashed with the instructions of the target it is built for.
haul_import(xxhash HEADER xxhash.h PACKAGE libxxhash-dev)
if(HAUL_TESTS)
  haul_import(cmocka HEADER cmocka.h ARCHIVE libcmocka.a cmocka PACKAGE libcmocka-dev)
endif()

include(HaulMbedtls)
