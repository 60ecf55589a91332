# haul::mbedcrypto, haul::mbedx509, haul::mbedtls: a pinned release of mbedTLS, built static with certs/mbedtls_config.h
# as part of this build (so compiler, sanitizers and flags are those of everything else), or the system's own.
option(HAUL_SYSTEM_MBEDTLS "use the system's mbedTLS (3.6 or a later 3.x): slower, AES-GCM not by libcrypto" OFF)

if(HAUL_SYSTEM_MBEDTLS)
  include(HaulSystemMbedtls)
  return()
endif()

include(HaulMbedtlsArchive)
haul_mbedtls_sources(HAUL_MBEDTLS_DIR)

# mbedTLS includes "gcm_alt.h" by that bare name; this folder holds that one header and nothing else.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/mbedtls/hook/gcm_alt.h CONTENT "#include \"certs/gcm_alt.h\"\n")

add_library(haul_mbedtls_headers INTERFACE)
target_include_directories(haul_mbedtls_headers SYSTEM INTERFACE ${HAUL_MBEDTLS_DIR}/include
                           ${PROJECT_BINARY_DIR}/mbedtls/hook)
target_include_directories(haul_mbedtls_headers INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(haul_mbedtls_headers INTERFACE MBEDTLS_CONFIG_FILE="certs/mbedtls_config.h")

# Modules that the configuration switches off compile to nothing; gcm.c does too, its functions are in certs/gcm_alt.c.
file(GLOB haul_mbed_all CONFIGURE_DEPENDS ${HAUL_MBEDTLS_DIR}/library/*.c)
set(haul_mbed_x509 ${haul_mbed_all})
list(FILTER haul_mbed_x509 INCLUDE REGEX "/(x509|pkcs7)[^/]*$")
set(haul_mbed_tls ${haul_mbed_all})
list(FILTER haul_mbed_tls INCLUDE REGEX "/(ssl_|mps_|debug|net_sockets)[^/]*$")
set(haul_mbed_crypto ${haul_mbed_all})
list(REMOVE_ITEM haul_mbed_crypto ${haul_mbed_x509} ${haul_mbed_tls})

foreach(part crypto x509 tls)
  add_library(haul_mbed${part} STATIC EXCLUDE_FROM_ALL ${haul_mbed_${part}})
  target_link_libraries(haul_mbed${part} PUBLIC haul_mbedtls_headers)
  target_include_directories(haul_mbed${part} PRIVATE ${HAUL_MBEDTLS_DIR}/library)
  target_compile_options(haul_mbed${part} PRIVATE -O2)
  add_library(haul::mbed${part} ALIAS haul_mbed${part})
endforeach()
target_link_libraries(haul_mbedcrypto PUBLIC haul_gcm Threads::Threads)
target_link_libraries(haul_mbedx509 PUBLIC haul_mbedcrypto)
target_link_libraries(haul_mbedtls PUBLIC haul_mbedx509)
