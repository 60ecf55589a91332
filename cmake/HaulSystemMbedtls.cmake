# The system's mbedTLS under the names that the pinned one has. Its AES-GCM is its own: certs/gcm_alt.c is left out.
haul_import(mbedcrypto HEADER mbedtls/build_info.h ARCHIVE libmbedcrypto.a mbedcrypto PACKAGE libmbedtls-dev
            LIBS Threads::Threads)
haul_import(mbedx509 HEADER mbedtls/x509_crt.h ARCHIVE libmbedx509.a mbedx509 PACKAGE libmbedtls-dev
            LIBS haul::mbedcrypto)
haul_import(mbedtls HEADER mbedtls/ssl.h ARCHIVE libmbedtls.a mbedtls PACKAGE libmbedtls-dev LIBS haul::mbedx509)

file(STRINGS ${HAUL_mbedcrypto_INCLUDE}/mbedtls/build_info.h haul_mbed_line REGEX "define MBEDTLS_VERSION_STRING ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" haul_mbed_version "${haul_mbed_line}")
if(haul_mbed_version VERSION_LESS 3.6.4 OR NOT haul_mbed_version VERSION_LESS 4)
  message(FATAL_ERROR "the system's mbedTLS is ${haul_mbed_version}; haul needs 3.6.4 or a later 3.x (keying material "
          "export). Leave HAUL_SYSTEM_MBEDTLS off to build with the pinned release.")
endif()
message(STATUS "mbedTLS ${haul_mbed_version} of the system: AES-GCM runs several times slower than with the pinned one")
