# Warnings and language settings as one interface target; every target of ours links it privately.
add_library(haul_warnings INTERFACE)
target_compile_options(haul_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
                       -Wmissing-prototypes -Wvla -Wundef)
target_compile_definitions(haul_warnings INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_include_directories(haul_warnings INTERFACE ${PROJECT_SOURCE_DIR})
option(HAUL_WERROR "warnings are errors" OFF)
if(HAUL_WERROR)
  target_compile_options(haul_warnings INTERFACE -Werror)
endif()
