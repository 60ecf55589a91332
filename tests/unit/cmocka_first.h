/* cmocka with the headers that it wants before it. */
#ifndef HAUL_TESTS_CMOCKA_FIRST_H
#define HAUL_TESTS_CMOCKA_FIRST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define assert_ok(st) assert_string_equal(haul_status_text(st), "success")
#define assert_code(st, expected) assert_string_equal(haul_status_text(st), haul_status_text(expected))

#endif
