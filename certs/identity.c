/*
 * The life of identity.key and identity.crt. The key is written first: a crash between the two leaves a key without a
 * certificate, which the next start makes again. A certificate without a key means that the key was lost, and a new one
 * would be another device, so that is left to the user.
 */
#include "certs/identity.h"

#include "certs/certificate.h"
#include "certs/crypto.h"
#include "certs/identity_parts.h"
#include "engine/base/record_file.h"
#include "engine/base/replace_file.h"

#include "mbedtls/ecp.h"
#include "mbedtls/platform_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PEM_BYTES_MAX = 8192 };

#define KEY_NAME "identity.key"
#define CERTIFICATE_NAME "identity.crt"

static haul_status check_dir(int dir_fd, struct haul_fault *fault)
{
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return haul_fault_errno(fault, errno, "look at the directory of " KEY_NAME);
	if (st.st_uid != geteuid())
		return haul_fault_set(fault, HAUL_DENIED, "the directory of " KEY_NAME " belongs to another user");
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return haul_fault_set(fault, HAUL_DENIED,
				      "the directory of " KEY_NAME " is open to others: chmod 700 it");
	return HAUL_OK;
}

static haul_status check_file(int fd, const char *name, mode_t forbidden, struct haul_fault *fault)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return haul_fault_errno(fault, errno, "look at %s", name);
	if (!S_ISREG(st.st_mode) || st.st_size > PEM_BYTES_MAX)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "%s is not a file as haul makes it", name);
	if (st.st_uid != geteuid())
		return haul_fault_set(fault, HAUL_DENIED, "%s belongs to another user", name);
	if (st.st_mode & forbidden)
		return haul_fault_set(fault, HAUL_DENIED, "%s is open to others: chmod 600 it", name);
	return HAUL_OK;
}

/* The text of a file with a NUL behind it, as mbedTLS wants PEM. `forbidden`: permission bits that may not be set. */
static haul_status read_pem(int dir_fd, const char *name, mode_t forbidden, char ret_pem[PEM_BYTES_MAX + 1],
			    struct haul_fault *fault)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	haul_status st;
	ssize_t n;

	if (fd < 0)
		return haul_fault_errno(fault, errno, "open %s", name);
	st = check_file(fd, name, forbidden, fault);
	if (haul_ok(st)) {
		n = read(fd, ret_pem, PEM_BYTES_MAX);
		if (n < 0)
			st = haul_fault_errno(fault, errno, "read %s", name);
		else
			ret_pem[n] = '\0';
	}
	(void)close(fd);
	return st;
}

static haul_status parse_key(struct identity *identity, const char *pem, struct haul_fault *fault)
{
	int ret = mbedtls_pk_parse_key(&identity->key, (const unsigned char *)pem, strlen(pem) + 1, NULL, 0,
				       crypto_random, NULL);

	if (ret) {
		haul_status st = crypto_failed(ret, fault, KEY_NAME " is damaged");

		return st.code == HAUL_CODE_NO_MEMORY ? st : HAUL_BAD_VALUE;
	}
	if (mbedtls_pk_get_type(&identity->key) != MBEDTLS_PK_ECKEY ||
	    mbedtls_pk_ec(identity->key)->MBEDTLS_PRIVATE(grp).id != MBEDTLS_ECP_DP_SECP256R1)
		return haul_fault_set(fault, HAUL_BAD_VALUE, KEY_NAME " is not a P-256 key");
	return HAUL_OK;
}

static haul_status load_key(int dir_fd, struct identity *identity, struct haul_fault *fault)
{
	char pem[PEM_BYTES_MAX + 1];
	haul_status st = read_pem(dir_fd, KEY_NAME, S_IRWXG | S_IRWXO, pem, fault);

	if (haul_ok(st))
		st = parse_key(identity, pem, fault);
	mbedtls_platform_zeroize(pem, sizeof(pem));
	return st;
}

static haul_status make_key(int dir_fd, struct identity *identity, struct haul_fault *fault)
{
	unsigned char pem[PEM_BYTES_MAX];
	haul_status st;
	int ret = mbedtls_pk_setup(&identity->key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));

	if (!ret)
		ret = mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(identity->key), crypto_random, NULL);
	if (!ret)
		ret = mbedtls_pk_write_key_pem(&identity->key, pem, sizeof(pem));
	st = ret ? crypto_failed(ret, fault, "make a key")
		 : replace_file(dir_fd, KEY_NAME, pem, strlen((const char *)pem), fault);
	mbedtls_platform_zeroize(pem, sizeof(pem));
	return st;
}

/* Load the key, or make it where there is neither key nor certificate. */
static haul_status open_key(int dir_fd, struct identity *identity, struct haul_fault *fault)
{
	haul_status st = load_key(dir_fd, identity, fault);
	struct stat there;

	if (st.code != HAUL_CODE_NOT_FOUND)
		return st;
	if (fstatat(dir_fd, CERTIFICATE_NAME, &there, AT_SYMLINK_NOFOLLOW) == 0)
		return haul_fault_set(fault, HAUL_BAD_VALUE,
				      KEY_NAME " is missing; bring it back from a backup, or remove " CERTIFICATE_NAME
					       " to become a new device");
	return make_key(dir_fd, identity, fault);
}

/* HAUL_BAD_VALUE: there is none of our key, so that it is to be made. A lack of memory says nothing about it. */
static haul_status load_certificate(int dir_fd, struct identity *identity, struct haul_fault *fault)
{
	char pem[PEM_BYTES_MAX + 1];
	haul_status st;
	int ret;

	if (haul_failed(read_pem(dir_fd, CERTIFICATE_NAME, S_IWGRP | S_IWOTH, pem, NULL)))
		return HAUL_BAD_VALUE;
	ret = mbedtls_x509_crt_parse(&identity->certificate, (const unsigned char *)pem, strlen(pem) + 1);
	if (!ret && !identity->certificate.next)
		ret = mbedtls_pk_check_pair(&identity->certificate.pk, &identity->key, crypto_random, NULL);
	if (!ret && !identity->certificate.next)
		return HAUL_OK;
	st = crypto_failed(ret, fault, "read " CERTIFICATE_NAME);
	return st.code == HAUL_CODE_NO_MEMORY ? st : HAUL_BAD_VALUE;
}

static haul_status open_certificate(int dir_fd, struct identity *identity, struct haul_fault *fault)
{
	char pem[CERTIFICATE_PEM_MAX];
	haul_status st;
	int ret;

	st = load_certificate(dir_fd, identity, fault);
	if (haul_ok(st) || st.code == HAUL_CODE_NO_MEMORY)
		return st;
	mbedtls_x509_crt_free(&identity->certificate);
	mbedtls_x509_crt_init(&identity->certificate);
	st = certificate_make(&identity->key, pem, fault);
	if (haul_ok(st))
		st = replace_file(dir_fd, CERTIFICATE_NAME, pem, strlen(pem), fault);
	if (haul_failed(st))
		return st;
	ret = mbedtls_x509_crt_parse(&identity->certificate, (const unsigned char *)pem, strlen(pem) + 1);
	return ret ? crypto_failed(ret, fault, "read back our certificate") : HAUL_OK;
}

/* Everything between lock and unlock. */
static haul_status open_files(int dir_fd, struct identity *identity, struct haul_fault *fault)
{
	haul_status st = open_key(dir_fd, identity, fault);

	if (haul_ok(st))
		st = open_certificate(dir_fd, identity, fault);
	if (haul_failed(st))
		return st;
	return device_id_of_key(identity->certificate.pk_raw.p, identity->certificate.pk_raw.len, identity->device_id);
}

haul_status identity_open(int dir_fd, struct identity **ret_identity, struct haul_fault *fault)
{
	struct identity *identity;
	int lock_fd;
	haul_status st = check_dir(dir_fd, fault);

	if (haul_ok(st))
		st = crypto_start(fault);
	if (haul_failed(st))
		return st;
	identity = calloc(1, sizeof(*identity));
	if (!identity)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "open the identity");
	mbedtls_pk_init(&identity->key);
	mbedtls_x509_crt_init(&identity->certificate);
	st = record_lock(dir_fd, "identity", &lock_fd, fault);
	if (haul_failed(st))
		goto free_identity;
	st = open_files(dir_fd, identity, fault);
	record_unlock(lock_fd);
	if (haul_failed(st))
		goto free_identity;
	*ret_identity = identity;
	return HAUL_OK;

free_identity:
	identity_free(identity);
	return st;
}

void identity_free(struct identity *identity)
{
	if (!identity)
		return;
	mbedtls_pk_free(&identity->key);
	mbedtls_x509_crt_free(&identity->certificate);
	free(identity);
}

const uint8_t *identity_device_id(const struct identity *identity)
{
	return identity->device_id;
}
