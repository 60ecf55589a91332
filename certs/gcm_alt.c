/*
 * AES-GCM for mbedTLS by OpenSSL's EVP. The key is scheduled once, in setkey, so a TLS record costs an IV and the data.
 *
 * One-shot calls (every TLS record) take one pass with `seal` or `open`. Decryption in pieces takes two: mbedTLS asks
 * for the tag that the text should have, which EVP tells only to those who encrypt, so `open` yields the plaintext and
 * `seal` encrypts it again for the tag. Differences from mbedTLS's own: an IV is at most 128 bytes (BAD_INPUT beyond),
 * and ciphers other than AES are refused.
 */
#include "mbedtls/gcm.h"
#include "mbedtls/platform_util.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <stdbool.h>
#include <string.h>

#if !defined(MBEDTLS_GCM_ALT)
#error "certs/gcm_alt.c is for an mbedTLS configured with MBEDTLS_GCM_ALT"
#endif

enum {
	IV_BYTES_DEFAULT = 12,
	IV_BYTES_MAX = 128, /* GCM_IV_MAX_SIZE of OpenSSL 3 */
	TAG_BYTES_MIN = 4,  /* as in mbedTLS */
	TAG_BYTES_MAX = 16,
	EVP_STEP_BYTES = 1 << 30, /* EVP takes an int */
	CHECK_BYTES = 1024,       /* plaintext encrypted at a time for the tag of a piecewise decryption */
};

static const uint64_t data_bytes_max = 0xFFFFFFFE0; /* 2^36 - 32: NIST SP 800-38D, 5.2.1.1 */

static const EVP_CIPHER *aes_gcm(unsigned key_bits)
{
	switch (key_bits) {
	case 128:
		return EVP_aes_128_gcm();
	case 192:
		return EVP_aes_192_gcm();
	case 256:
		return EVP_aes_256_gcm();
	default:
		return NULL;
	}
}

void mbedtls_gcm_init(mbedtls_gcm_context *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
}

void mbedtls_gcm_free(mbedtls_gcm_context *ctx)
{
	if (!ctx)
		return;
	EVP_CIPHER_CTX_free(ctx->seal);
	EVP_CIPHER_CTX_free(ctx->open);
	memset(ctx, 0, sizeof(*ctx));
}

int mbedtls_gcm_setkey(mbedtls_gcm_context *ctx, mbedtls_cipher_id_t cipher, const unsigned char *key, unsigned keybits)
{
	const EVP_CIPHER *kind = cipher == MBEDTLS_CIPHER_ID_AES ? aes_gcm(keybits) : NULL;

	if (!kind)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	mbedtls_gcm_free(ctx);
	ctx->seal_iv_bytes = ctx->open_iv_bytes = IV_BYTES_DEFAULT;
	ctx->seal = EVP_CIPHER_CTX_new();
	ctx->open = EVP_CIPHER_CTX_new();
	if (!ctx->seal || !ctx->open || EVP_EncryptInit_ex(ctx->seal, kind, NULL, key, NULL) != 1 ||
	    EVP_DecryptInit_ex(ctx->open, kind, NULL, key, NULL) != 1) {
		mbedtls_gcm_free(ctx);
		return MBEDTLS_ERR_CIPHER_ALLOC_FAILED;
	}
	return 0;
}

/* Begin a message on one EVP context; `set_bytes` is the IV length it is set to. */
static int set_iv(EVP_CIPHER_CTX *evp, size_t *set_bytes, const unsigned char *iv, size_t iv_len)
{
	if (!evp || iv_len == 0 || iv_len > IV_BYTES_MAX)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	if (iv_len != *set_bytes) {
		if (EVP_CIPHER_CTX_ctrl(evp, EVP_CTRL_AEAD_SET_IVLEN, (int)iv_len, NULL) != 1)
			return MBEDTLS_ERR_GCM_BAD_INPUT;
		*set_bytes = iv_len;
	}
	return EVP_CipherInit_ex(evp, NULL, NULL, NULL, iv, -1) == 1 ? 0 : MBEDTLS_ERR_GCM_BAD_INPUT;
}

/* Feed `len` bytes, as associated data where `out` is NULL. */
static int feed(EVP_CIPHER_CTX *evp, const unsigned char *in, size_t len, unsigned char *out)
{
	while (len) {
		size_t step = len < EVP_STEP_BYTES ? len : EVP_STEP_BYTES;
		int done;

		if (EVP_CipherUpdate(evp, out, &done, in, (int)step) != 1)
			return MBEDTLS_ERR_GCM_BAD_INPUT;
		in += step;
		out = out ? out + step : NULL;
		len -= step;
	}
	return 0;
}

static int get_tag(EVP_CIPHER_CTX *seal, unsigned char *tag, size_t tag_len)
{
	unsigned char none[TAG_BYTES_MAX];
	int done;

	if (EVP_CipherFinal_ex(seal, none, &done) != 1 ||
	    EVP_CIPHER_CTX_ctrl(seal, EVP_CTRL_AEAD_GET_TAG, (int)tag_len, tag) != 1)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	return 0;
}

static bool is_tag_length(size_t tag_len)
{
	return tag_len >= TAG_BYTES_MIN && tag_len <= TAG_BYTES_MAX;
}

/* Whether output begins inside input, where writing would destroy what is still to be read. */
static bool is_overtaking(const unsigned char *in, size_t len, const unsigned char *out)
{
	return out > in && (size_t)(out - in) < len;
}

int mbedtls_gcm_starts(mbedtls_gcm_context *ctx, int mode, const unsigned char *iv, size_t iv_len)
{
	int ret;

	if (mode != MBEDTLS_GCM_ENCRYPT && mode != MBEDTLS_GCM_DECRYPT)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	ctx->mode = mode;
	ctx->data_bytes = 0;
	ret = set_iv(ctx->seal, &ctx->seal_iv_bytes, iv, iv_len);
	if (ret || mode == MBEDTLS_GCM_ENCRYPT)
		return ret;
	return set_iv(ctx->open, &ctx->open_iv_bytes, iv, iv_len);
}

int mbedtls_gcm_update_ad(mbedtls_gcm_context *ctx, const unsigned char *add, size_t add_len)
{
	int ret;

	if (!ctx->seal || (ctx->data_bytes && add_len))
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	ret = feed(ctx->seal, add, add_len, NULL);
	if (ret || ctx->mode == MBEDTLS_GCM_ENCRYPT)
		return ret;
	return feed(ctx->open, add, add_len, NULL);
}

/* Decrypt a piece and encrypt it again, only for the tag. */
static int open_piece(mbedtls_gcm_context *ctx, const unsigned char *in, size_t len, unsigned char *out)
{
	unsigned char again[CHECK_BYTES];
	int ret = feed(ctx->open, in, len, out);

	while (!ret && len) {
		size_t step = len < sizeof(again) ? len : sizeof(again);

		ret = feed(ctx->seal, out, step, again);
		out += step;
		len -= step;
	}
	return ret;
}

int mbedtls_gcm_update(mbedtls_gcm_context *ctx, const unsigned char *input, size_t input_length, unsigned char *output,
		       size_t output_size, size_t *output_length)
{
	if (output_size < input_length)
		return MBEDTLS_ERR_GCM_BUFFER_TOO_SMALL;
	*output_length = input_length;
	if (input_length == 0)
		return 0;
	if (!ctx->seal || is_overtaking(input, input_length, output) || input_length > data_bytes_max - ctx->data_bytes)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	ctx->data_bytes += input_length;
	return ctx->mode == MBEDTLS_GCM_ENCRYPT ? feed(ctx->seal, input, input_length, output)
						: open_piece(ctx, input, input_length, output);
}

int mbedtls_gcm_finish(mbedtls_gcm_context *ctx, unsigned char *output, size_t output_size, size_t *output_length,
		       unsigned char *tag, size_t tag_len)
{
	(void)output; /* nothing is ever held back for the end */
	(void)output_size;
	*output_length = 0;
	if (!ctx->seal || !is_tag_length(tag_len))
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	return get_tag(ctx->seal, tag, tag_len);
}

int mbedtls_gcm_crypt_and_tag(mbedtls_gcm_context *ctx, int mode, size_t length, const unsigned char *iv, size_t iv_len,
			      const unsigned char *add, size_t add_len, const unsigned char *input,
			      unsigned char *output, size_t tag_len, unsigned char *tag)
{
	size_t done;
	int ret = mbedtls_gcm_starts(ctx, mode, iv, iv_len);

	if (!ret)
		ret = mbedtls_gcm_update_ad(ctx, add, add_len);
	if (!ret)
		ret = mbedtls_gcm_update(ctx, input, length, output, length, &done);
	if (!ret)
		ret = mbedtls_gcm_finish(ctx, NULL, 0, &done, tag, tag_len);
	return ret;
}

/* The last step of opening a message: EVP compares the tags, in constant time. */
static int check_tag(EVP_CIPHER_CTX *open, const unsigned char *tag, size_t tag_len)
{
	unsigned char expected[TAG_BYTES_MAX];
	unsigned char none[TAG_BYTES_MAX];
	int done;

	memcpy(expected, tag, tag_len);
	if (EVP_CIPHER_CTX_ctrl(open, EVP_CTRL_AEAD_SET_TAG, (int)tag_len, expected) != 1)
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	return EVP_CipherFinal_ex(open, none, &done) == 1 ? 0 : MBEDTLS_ERR_GCM_AUTH_FAILED;
}

int mbedtls_gcm_auth_decrypt(mbedtls_gcm_context *ctx, size_t length, const unsigned char *iv, size_t iv_len,
			     const unsigned char *add, size_t add_len, const unsigned char *tag, size_t tag_len,
			     const unsigned char *input, unsigned char *output)
{
	int ret;

	if (!is_tag_length(tag_len) || length > data_bytes_max || is_overtaking(input, length, output))
		return MBEDTLS_ERR_GCM_BAD_INPUT;
	ret = set_iv(ctx->open, &ctx->open_iv_bytes, iv, iv_len);
	if (!ret)
		ret = feed(ctx->open, add, add_len, NULL);
	if (!ret)
		ret = feed(ctx->open, input, length, output);
	if (!ret)
		ret = check_tag(ctx->open, tag, tag_len);
	if (ret && length)
		OPENSSL_cleanse(output, length);
	return ret;
}
