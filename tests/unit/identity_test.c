#include "certs/identity.h"
#include "certs/identity_parts.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_dir.h"

#include "mbedtls/oid.h"

#include <sys/stat.h>
#include <sys/wait.h>

enum { PEM_MAX = 8192 };

static struct identity *opened(const struct temp_dir *t)
{
	struct identity *identity = NULL;
	struct haul_fault fault = { .text = "" };

	if (haul_failed(identity_open(t->fd, &identity, &fault)))
		fail_msg("%s", fault.text);
	return identity;
}

static void check_refused(const struct temp_dir *t, haul_status expected)
{
	struct identity *identity = NULL;
	struct haul_fault fault = { .text = "" };

	assert_code(identity_open(t->fd, &identity, &fault), expected);
	assert_null(identity);
	assert_true(fault.text[0] != '\0');
}

static mode_t mode_of(const struct temp_dir *t, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static void the_first_use_makes_one_that_stays(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct identity *first = opened(&t);
	struct identity *second = opened(&t);

	(void)state;
	assert_memory_equal(identity_device_id(first), identity_device_id(second), DEVICE_ID_BYTES);
	assert_int_equal(mode_of(&t, "identity.key"), 0600);
	assert_int_equal(temp_dir_walk(t.fd, false), 3); /* key, certificate, lock */
	identity_free(first);
	identity_free(second);
	identity_free(NULL);
	temp_dir_close(&t);
}

static void two_devices_differ(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct temp_dir u = temp_dir_open();
	struct identity *one = opened(&t);
	struct identity *two = opened(&u);

	(void)state;
	assert_memory_not_equal(identity_device_id(one), identity_device_id(two), DEVICE_ID_BYTES);
	identity_free(one);
	identity_free(two);
	temp_dir_close(&t);
	temp_dir_close(&u);
}

static void the_certificate_says_what_it_should(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct identity *identity = opened(&t);
	const mbedtls_x509_crt *c = &identity->certificate;
	uint8_t id[DEVICE_ID_BYTES];
	char name[64];

	(void)state;
	assert_int_equal(c->version, 3);
	assert_int_equal(c->serial.len, 16);
	assert_int_equal(c->MBEDTLS_PRIVATE(ca_istrue), 0);
	assert_int_equal(c->valid_to.year, 9999);
	assert_true(mbedtls_x509_dn_gets(name, sizeof(name), &c->subject) > 0);
	assert_string_equal(name, "CN=haul");
	assert_int_equal(mbedtls_x509_crt_check_key_usage(c, MBEDTLS_X509_KU_DIGITAL_SIGNATURE), 0);
	assert_int_not_equal(mbedtls_x509_crt_check_key_usage(c, MBEDTLS_X509_KU_KEY_CERT_SIGN), 0);
	assert_int_equal(mbedtls_x509_crt_check_extended_key_usage(c, MBEDTLS_OID_CLIENT_AUTH,
								   MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH)),
			 0);
	assert_int_equal(mbedtls_x509_crt_check_extended_key_usage(c, MBEDTLS_OID_SERVER_AUTH,
								   MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH)),
			 0);
	assert_int_not_equal(mbedtls_x509_crt_check_extended_key_usage(c, MBEDTLS_OID_CODE_SIGNING,
								       MBEDTLS_OID_SIZE(MBEDTLS_OID_CODE_SIGNING)),
			     0);
	assert_ok(device_id_of_key(c->pk_raw.p, c->pk_raw.len, id));
	assert_memory_equal(id, identity_device_id(identity), DEVICE_ID_BYTES);
	identity_free(identity);
	temp_dir_close(&t);
}

static void a_lost_certificate_is_made_again_for_the_same_id(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct identity *first = opened(&t);
	struct identity *second;

	(void)state;
	assert_int_equal(unlinkat(t.fd, "identity.crt", 0), 0);
	second = opened(&t);
	assert_memory_equal(identity_device_id(first), identity_device_id(second), DEVICE_ID_BYTES);
	identity_free(second);
	temp_dir_put(&t, "identity.crt", "rubbish", 7);
	second = opened(&t);
	assert_memory_equal(identity_device_id(first), identity_device_id(second), DEVICE_ID_BYTES);
	identity_free(second);
	identity_free(first);
	temp_dir_close(&t);
}

static void a_certificate_of_another_key_is_replaced(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct temp_dir u = temp_dir_open();
	struct identity *one = opened(&t);
	struct identity *two = opened(&u);
	struct identity *again;
	char pem[PEM_MAX];
	size_t n = temp_dir_get(&u, "identity.crt", pem, sizeof(pem));

	(void)state;
	temp_dir_put(&t, "identity.crt", pem, n);
	again = opened(&t);
	assert_memory_equal(identity_device_id(again), identity_device_id(one), DEVICE_ID_BYTES);
	identity_free(again);
	identity_free(one);
	identity_free(two);
	temp_dir_close(&t);
	temp_dir_close(&u);
}

static void a_lost_or_damaged_key_is_never_replaced(void **state)
{
	struct temp_dir t = temp_dir_open();
	char pem[PEM_MAX];
	size_t n;

	(void)state;
	identity_free(opened(&t));
	n = temp_dir_get(&t, "identity.key", pem, sizeof(pem));
	temp_dir_put(&t, "identity.key", pem, n / 2);
	check_refused(&t, HAUL_BAD_VALUE);
	temp_dir_put(&t, "identity.key", "", 0);
	check_refused(&t, HAUL_BAD_VALUE);
	assert_int_equal(unlinkat(t.fd, "identity.key", 0), 0);
	check_refused(&t, HAUL_BAD_VALUE);
	assert_int_equal(unlinkat(t.fd, "identity.crt", 0), 0);
	identity_free(opened(&t)); /* a new device, wanted */
	temp_dir_close(&t);
}

static void what_others_may_look_into_is_refused(void **state)
{
	struct temp_dir t = temp_dir_open();

	(void)state;
	assert_int_equal(fchmod(t.fd, 0750), 0);
	check_refused(&t, HAUL_DENIED);
	assert_int_equal(temp_dir_walk(t.fd, false), 0);
	assert_int_equal(fchmod(t.fd, 0700), 0);
	identity_free(opened(&t));
	assert_int_equal(fchmodat(t.fd, "identity.key", 0640, 0), 0);
	check_refused(&t, HAUL_DENIED);
	assert_int_equal(fchmodat(t.fd, "identity.key", 0604, 0), 0);
	check_refused(&t, HAUL_DENIED);
	assert_int_equal(fchmodat(t.fd, "identity.key", 0600, 0), 0);
	identity_free(opened(&t));
	if (geteuid() == 0) { /* only root can give files away */
		assert_int_equal(fchownat(t.fd, "identity.key", 65534, 65534, 0), 0);
		check_refused(&t, HAUL_DENIED);
		assert_int_equal(fchown(t.fd, 65534, 65534), 0);
		check_refused(&t, HAUL_DENIED);
	}
	temp_dir_close(&t);
}

static void a_link_in_place_of_the_key_is_refused(void **state)
{
	struct temp_dir t = temp_dir_open();

	(void)state;
	identity_free(opened(&t));
	assert_int_equal(renameat(t.fd, "identity.key", t.fd, "other"), 0);
	assert_int_equal(symlinkat("other", t.fd, "identity.key"), 0);
	check_refused(&t, HAUL_LINK_IN_PATH);
	temp_dir_close(&t);
}

/* Several first uses at once end with one device. */
static void a_race_of_first_uses_has_one_winner(void **state)
{
	enum { PROCESSES = 4 };
	struct temp_dir t = temp_dir_open();
	int ends[2];
	uint8_t ids[PROCESSES][DEVICE_ID_BYTES];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < PROCESSES; i++) {
		if (fork() == 0) {
			struct identity *identity;

			if (haul_failed(identity_open(t.fd, &identity, NULL)))
				_exit(1);
			_exit(write(ends[1], identity_device_id(identity), DEVICE_ID_BYTES) != DEVICE_ID_BYTES);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = -1;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(read(ends[0], ids, sizeof(ids)), sizeof(ids));
	for (int i = 1; i < PROCESSES; i++)
		assert_memory_equal(ids[i], ids[0], DEVICE_ID_BYTES);
	(void)close(ends[0]);
	(void)close(ends[1]);
	temp_dir_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_use_makes_one_that_stays),
		cmocka_unit_test(two_devices_differ),
		cmocka_unit_test(the_certificate_says_what_it_should),
		cmocka_unit_test(a_lost_certificate_is_made_again_for_the_same_id),
		cmocka_unit_test(a_certificate_of_another_key_is_replaced),
		cmocka_unit_test(a_lost_or_damaged_key_is_never_replaced),
		cmocka_unit_test(what_others_may_look_into_is_refused),
		cmocka_unit_test(a_link_in_place_of_the_key_is_refused),
		cmocka_unit_test(a_race_of_first_uses_has_one_winner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
