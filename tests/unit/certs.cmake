if(TARGET haul_gcm)
  haul_unit_test(gcm_alt LIBS haul::mbedcrypto)
endif()
