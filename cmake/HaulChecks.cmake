# What keeps the folders apart, checked by every build and by ctest.

# haul_check_headers(target header...): every header compiles alone, with nothing but what the target offers its users,
# and may be included twice. Part of the normal build when tests are on.
function(haul_check_headers target)
  if(NOT HAUL_TESTS)
    return()
  endif()
  set(sources "")
  foreach(header ${ARGN})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    string(MAKE_C_IDENTIFIER ${path} name)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.c)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${path}\"\n#include \"${path}\"\ntypedef int ${name}_alone;\n")
    list(APPEND sources ${source})
  endforeach()
  add_library(${target}_headers OBJECT ${sources})
  target_link_libraries(${target}_headers PRIVATE ${target} haul_warnings)
endfunction()

# haul_forbid_includes(folder [EXCEPT path...] pattern...): no source or header under the folder includes what matches.
# A pattern that ends in '/' is a prefix, any other a whole name; '!' before it makes an exception. The files are looked
# up when the test runs, so a new one is never missed. ctest name: includes.folder
function(haul_forbid_includes folder)
  cmake_parse_arguments(arg "" "" "EXCEPT" ${ARGN})
  set(patterns ${arg_UNPARSED_ARGUMENTS})
  set(except "")
  # EXCEPT takes all that follows it up to "--".
  list(FIND arg_EXCEPT "--" end)
  if(end GREATER -1)
    list(SUBLIST arg_EXCEPT 0 ${end} except)
    math(EXPR end "${end} + 1")
    list(SUBLIST arg_EXCEPT ${end} -1 patterns)
  endif()
  list(TRANSFORM except PREPEND "--except=")
  string(REPLACE "/" "." name ${folder})
  add_test(NAME includes.${name}
           COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/forbid-includes.sh ${except} ${folder} ${patterns}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(includes.${name} PROPERTIES TIMEOUT 30 LABELS checks)
endfunction()
