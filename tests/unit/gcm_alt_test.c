/* AES-GCM behind mbedTLS's interface: known answers, and every edge that mbedTLS's own has. */
#include "tests/unit/cmocka_first.h"
#include "tests/unit/gcm_vectors.h"

#include "mbedtls/gcm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 256, LONG_BYTES = 40000 };

struct blob {
	unsigned char bytes[BYTES_MAX];
	size_t len;
};

struct vector {
	struct blob key, iv, aad, plain, cipher, tag;
};

static struct blob unhex(const char *text)
{
	struct blob b = { .len = strlen(text) / 2 };

	assert_true(b.len <= BYTES_MAX);
	for (size_t i = 0; i < b.len; i++) {
		char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };

		b.bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return b;
}

static struct vector vector_of(const struct gcm_vector *v)
{
	return (struct vector){ unhex(v->key),   unhex(v->iv),     unhex(v->aad),
				unhex(v->plain), unhex(v->cipher), unhex(v->tag) };
}

static void set_key(mbedtls_gcm_context *gcm, const struct vector *v)
{
	assert_int_equal(mbedtls_gcm_setkey(gcm, MBEDTLS_CIPHER_ID_AES, v->key.bytes, (unsigned)(8 * v->key.len)), 0);
}

static int open_message(mbedtls_gcm_context *gcm, const struct vector *v, const unsigned char *tag, size_t tag_len,
			const unsigned char *in, unsigned char *out)
{
	return mbedtls_gcm_auth_decrypt(gcm, v->cipher.len, v->iv.bytes, v->iv.len, v->aad.bytes, v->aad.len, tag,
					tag_len, in, out);
}

static int do_crypt(mbedtls_gcm_context *gcm, int mode, const struct vector *v, const unsigned char *in,
		    unsigned char *out, unsigned char *tag)
{
	return mbedtls_gcm_crypt_and_tag(gcm, mode, v->plain.len, v->iv.bytes, v->iv.len, v->aad.bytes, v->aad.len, in,
					 out, v->tag.len, tag);
}

static void check_vector(const struct vector *v)
{
	unsigned char out[BYTES_MAX];
	unsigned char tag[16];
	mbedtls_gcm_context gcm;

	mbedtls_gcm_init(&gcm);
	set_key(&gcm, v);
	for (int round = 0; round < 2; round++) { /* a context serves many messages */
		assert_int_equal(do_crypt(&gcm, MBEDTLS_GCM_ENCRYPT, v, v->plain.bytes, out, tag), 0);
		assert_memory_equal(out, v->cipher.bytes, v->cipher.len);
		assert_memory_equal(tag, v->tag.bytes, v->tag.len);
		assert_int_equal(open_message(&gcm, v, tag, v->tag.len, v->cipher.bytes, out), 0);
		assert_memory_equal(out, v->plain.bytes, v->plain.len);
		memset(tag, 0, sizeof(tag));
		assert_int_equal(do_crypt(&gcm, MBEDTLS_GCM_DECRYPT, v, v->cipher.bytes, out, tag), 0);
		assert_memory_equal(out, v->plain.bytes, v->plain.len);
		assert_memory_equal(tag, v->tag.bytes, v->tag.len);
	}
	mbedtls_gcm_free(&gcm);
}

static void known_answers_come_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(gcm_vectors) / sizeof(gcm_vectors[0]); i++) {
		struct vector v = vector_of(&gcm_vectors[i]);

		print_message("%s\n", gcm_vectors[i].name);
		check_vector(&v);
	}
}

/* One context, messages with IVs of several lengths in turn. */
static void the_length_of_the_iv_may_change(void **state)
{
	const size_t order[] = { 3, 4, 5, 3, 5, 4, 3 }; /* cases 4, 5, 6: one key */
	mbedtls_gcm_context gcm;
	unsigned char out[BYTES_MAX];
	unsigned char tag[16];

	(void)state;
	mbedtls_gcm_init(&gcm);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct vector v = vector_of(&gcm_vectors[order[i]]);

		if (i == 0)
			set_key(&gcm, &v);
		assert_int_equal(do_crypt(&gcm, MBEDTLS_GCM_ENCRYPT, &v, v.plain.bytes, out, tag), 0);
		assert_memory_equal(tag, v.tag.bytes, v.tag.len);
		assert_int_equal(open_message(&gcm, &v, v.tag.bytes, v.tag.len, v.cipher.bytes, out), 0);
		assert_memory_equal(out, v.plain.bytes, v.plain.len);
	}
	mbedtls_gcm_free(&gcm);
}

static bool is_wiped(const unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i])
			return false;
	}
	return true;
}

static void a_wrong_message_is_refused_and_wiped(void **state)
{
	struct vector v = vector_of(&gcm_vectors[3]);
	unsigned char out[BYTES_MAX];
	mbedtls_gcm_context gcm;

	(void)state;
	mbedtls_gcm_init(&gcm);
	set_key(&gcm, &v);
	for (size_t i = 0; i < 8 * v.tag.len; i++) {
		v.tag.bytes[i / 8] = (unsigned char)(v.tag.bytes[i / 8] ^ 1 << i % 8);
		memset(out, 0xAA, sizeof(out));
		assert_int_equal(open_message(&gcm, &v, v.tag.bytes, 16, v.cipher.bytes, out),
				 MBEDTLS_ERR_GCM_AUTH_FAILED);
		assert_true(is_wiped(out, v.plain.len));
		v.tag.bytes[i / 8] = (unsigned char)(v.tag.bytes[i / 8] ^ 1 << i % 8);
	}
	v.cipher.bytes[59] ^= 1;
	assert_int_equal(open_message(&gcm, &v, v.tag.bytes, 16, v.cipher.bytes, out), MBEDTLS_ERR_GCM_AUTH_FAILED);
	v.cipher.bytes[59] ^= 1;
	v.aad.bytes[0] ^= 1;
	assert_int_equal(open_message(&gcm, &v, v.tag.bytes, 16, v.cipher.bytes, out), MBEDTLS_ERR_GCM_AUTH_FAILED);
	v.aad.bytes[0] ^= 1;
	assert_int_equal(open_message(&gcm, &v, v.tag.bytes, 16, v.cipher.bytes, out),
			 0); /* the context still serves */
	mbedtls_gcm_free(&gcm);
}

static void lengths_of_tags_are_bounded(void **state)
{
	struct vector v = vector_of(&gcm_vectors[3]);
	unsigned char out[BYTES_MAX];
	unsigned char tag[32] = { 0 };
	mbedtls_gcm_context gcm;

	(void)state;
	mbedtls_gcm_init(&gcm);
	set_key(&gcm, &v);
	for (size_t len = 0; len <= 17; len++) {
		bool is_allowed = len >= 4 && len <= 16;

		v.tag.len = len;
		assert_int_equal(do_crypt(&gcm, MBEDTLS_GCM_ENCRYPT, &v, v.plain.bytes, out, tag),
				 is_allowed ? 0 : MBEDTLS_ERR_GCM_BAD_INPUT);
		assert_int_equal(open_message(&gcm, &v, v.tag.bytes, len, v.cipher.bytes, out),
				 is_allowed ? 0 : MBEDTLS_ERR_GCM_BAD_INPUT);
	}
	mbedtls_gcm_free(&gcm);
}

static void other_keys_are_refused(void **state)
{
	static const unsigned bits[] = { 0, 64, 127, 129, 224, 512 };
	unsigned char key[64] = { 0 };
	mbedtls_gcm_context gcm;

	(void)state;
	mbedtls_gcm_init(&gcm);
	assert_int_equal(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_CAMELLIA, key, 128), MBEDTLS_ERR_GCM_BAD_INPUT);
	assert_int_equal(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_ARIA, key, 128), MBEDTLS_ERR_GCM_BAD_INPUT);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		assert_int_equal(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, bits[i]),
				 MBEDTLS_ERR_GCM_BAD_INPUT);
	mbedtls_gcm_free(&gcm);
	mbedtls_gcm_free(NULL);
}

static void misuse_is_refused(void **state)
{
	struct vector v = vector_of(&gcm_vectors[3]);
	unsigned char out[BYTES_MAX];
	unsigned char iv[200] = { 0 };
	mbedtls_gcm_context gcm;
	size_t done;

	(void)state;
	mbedtls_gcm_init(&gcm);
	assert_int_equal(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 12), MBEDTLS_ERR_GCM_BAD_INPUT); /* no key */
	assert_int_equal(mbedtls_gcm_update(&gcm, iv, 1, out, 1, &done), MBEDTLS_ERR_GCM_BAD_INPUT);
	assert_int_equal(mbedtls_gcm_finish(&gcm, NULL, 0, &done, out, 16), MBEDTLS_ERR_GCM_BAD_INPUT);
	set_key(&gcm, &v);
	assert_int_equal(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 0), MBEDTLS_ERR_GCM_BAD_INPUT);
	assert_int_equal(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 129), MBEDTLS_ERR_GCM_BAD_INPUT);
	assert_int_equal(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 128), 0);
	assert_int_equal(mbedtls_gcm_update(&gcm, iv, 32, out, 31, &done), MBEDTLS_ERR_GCM_BUFFER_TOO_SMALL);
	assert_int_equal(mbedtls_gcm_update(&gcm, out, 32, out + 1, 32, &done), MBEDTLS_ERR_GCM_BAD_INPUT);
	assert_int_equal(mbedtls_gcm_update(&gcm, iv, 32, out, 32, &done), 0);
	assert_int_equal(mbedtls_gcm_update_ad(&gcm, iv, 1), MBEDTLS_ERR_GCM_BAD_INPUT); /* too late */
	assert_int_equal(mbedtls_gcm_finish(&gcm, NULL, 0, &done, out, 3), MBEDTLS_ERR_GCM_BAD_INPUT);
	mbedtls_gcm_free(&gcm);
}

static void messages_may_be_worked_on_in_place(void **state)
{
	struct vector v = vector_of(&gcm_vectors[3]);
	unsigned char data[BYTES_MAX];
	unsigned char tag[16];
	mbedtls_gcm_context gcm;

	(void)state;
	mbedtls_gcm_init(&gcm);
	set_key(&gcm, &v);
	memcpy(data, v.plain.bytes, v.plain.len);
	assert_int_equal(do_crypt(&gcm, MBEDTLS_GCM_ENCRYPT, &v, data, data, tag), 0);
	assert_memory_equal(data, v.cipher.bytes, v.cipher.len);
	assert_int_equal(open_message(&gcm, &v, tag, 16, data, data), 0);
	assert_memory_equal(data, v.plain.bytes, v.plain.len);
	memcpy(data, v.cipher.bytes, v.cipher.len);
	assert_int_equal(do_crypt(&gcm, MBEDTLS_GCM_DECRYPT, &v, data, data, tag), 0);
	assert_memory_equal(data, v.plain.bytes, v.plain.len);
	assert_memory_equal(tag, v.tag.bytes, 16);
	mbedtls_gcm_free(&gcm);
}

/* The same message in pieces of a given length, associated data in two. */
static void crypt_in_pieces(mbedtls_gcm_context *gcm, int mode, const unsigned char *in, unsigned char *out,
			    size_t piece, unsigned char tag[16])
{
	static const unsigned char iv[12] = "twelve bytes";
	size_t done;

	assert_int_equal(mbedtls_gcm_starts(gcm, mode, iv, sizeof(iv)), 0);
	assert_int_equal(mbedtls_gcm_update_ad(gcm, (const unsigned char *)"associated", 3), 0);
	assert_int_equal(mbedtls_gcm_update_ad(gcm, (const unsigned char *)"ociated", 7), 0);
	for (size_t at = 0; at < LONG_BYTES; at += piece) {
		size_t n = LONG_BYTES - at < piece ? LONG_BYTES - at : piece;

		assert_int_equal(mbedtls_gcm_update(gcm, in + at, n, out + at, n, &done), 0);
		assert_int_equal(done, n);
	}
	assert_int_equal(mbedtls_gcm_finish(gcm, NULL, 0, &done, tag, 16), 0);
	assert_int_equal(done, 0);
}

static void pieces_give_the_same_as_the_whole(void **state)
{
	static const size_t pieces[] = { LONG_BYTES, 16384, 4096, 1000, 17, 16, 15, 1 };
	static unsigned char plain[LONG_BYTES], whole[LONG_BYTES], out[LONG_BYTES];
	unsigned char whole_tag[16], tag[16];
	mbedtls_gcm_context gcm;
	struct vector v = vector_of(&gcm_vectors[10]);

	(void)state;
	for (size_t i = 0; i < LONG_BYTES; i++)
		plain[i] = (unsigned char)(i * 7 + i / 256);
	mbedtls_gcm_init(&gcm);
	set_key(&gcm, &v);
	assert_int_equal(
	    mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, LONG_BYTES, (const unsigned char *)"twelve bytes", 12,
				      (const unsigned char *)"associated", 10, plain, whole, 16, whole_tag),
	    0);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		crypt_in_pieces(&gcm, MBEDTLS_GCM_ENCRYPT, plain, out, pieces[i], tag);
		assert_memory_equal(out, whole, LONG_BYTES);
		assert_memory_equal(tag, whole_tag, 16);
		crypt_in_pieces(&gcm, MBEDTLS_GCM_DECRYPT, whole, out, pieces[i], tag);
		assert_memory_equal(out, plain, LONG_BYTES);
		assert_memory_equal(tag, whole_tag, 16);
	}
	mbedtls_gcm_free(&gcm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers_come_out),
		cmocka_unit_test(the_length_of_the_iv_may_change),
		cmocka_unit_test(a_wrong_message_is_refused_and_wiped),
		cmocka_unit_test(lengths_of_tags_are_bounded),
		cmocka_unit_test(other_keys_are_refused),
		cmocka_unit_test(misuse_is_refused),
		cmocka_unit_test(messages_may_be_worked_on_in_place),
		cmocka_unit_test(pieces_give_the_same_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
