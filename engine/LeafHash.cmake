# leaf_hash.c once per instruction set; leaf_hash_choice.c takes the best that the processor has. Always optimised: the
# header's code is ten times slower without, and tests hash gigabytes.
function(haul_leaf_hash variant)
  set(target haul_leaf_hash_${variant})
  add_library(${target} OBJECT leaf_hash.c)
  target_link_libraries(${target} PRIVATE haul_warnings haul::xxhash)
  target_compile_definitions(${target} PRIVATE LEAF_HASH_NAME=leaf_hash_${variant})
  target_compile_options(${target} PRIVATE -O3 ${ARGN})
  target_sources(haul_engine PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()

include(CheckCSourceCompiles)
check_c_source_compiles("#ifndef __x86_64__\n#error other\n#endif\nint main(void) { return 0; }" HAUL_IS_X86_64)
haul_leaf_hash(plain)
if(HAUL_IS_X86_64)
  haul_leaf_hash(avx2 -mavx2)
  haul_leaf_hash(avx512 -mavx512f)
endif()
target_sources(haul_engine PRIVATE leaf_hash_choice.c)
