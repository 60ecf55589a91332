# What every object is compiled with, ours and mbedTLS's. Asserts stay on in every build type.
#   HAUL_SANITIZE   list for -fsanitize=, "address,undefined" or "thread"
#   HAUL_HARDEN     the compiler's and linker's own defences, for what is given to users
set(HAUL_SANITIZE "" CACHE STRING "sanitizers, as for -fsanitize=")
option(HAUL_HARDEN "compile with the compiler's defences" ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
foreach(kind RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${kind} "${CMAKE_C_FLAGS_${kind}}")
endforeach()

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(HAUL_SANITIZE)
  add_compile_options(-fsanitize=${HAUL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HAUL_SANITIZE})
elseif(HAUL_HARDEN AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  include(CheckCCompilerFlag)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
    string(MAKE_C_IDENTIFIER HAUL_HAVE${flag} known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      add_compile_options(${flag})
    endif()
  endforeach()
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
endif()
