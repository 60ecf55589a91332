/* Numbers with units. Only ASCII digits count, whatever the locale says. */
#include "cli/sizes.h"

#include "engine/base/checked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FRACTION_DIGITS_MAX = 9 };

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* over `scale` */
	uint64_t scale;
	const char *rest; /* what follows */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static haul_status decimal_parse(const char *text, struct decimal *ret)
{
	struct decimal d = { .scale = 1, .rest = text };

	if (!is_digit(*text))
		return HAUL_BAD_VALUE;
	for (; is_digit(*d.rest); d.rest++) {
		if (haul_failed(haul_mul_u64(d.whole, 10, &d.whole)) ||
		    haul_failed(haul_add_u64(d.whole, (uint64_t)(*d.rest - '0'), &d.whole)))
			return HAUL_OVERFLOW;
	}
	if (*d.rest == '.') {
		if (!is_digit(*++d.rest))
			return HAUL_BAD_VALUE;
		for (unsigned n = 0; is_digit(*d.rest); d.rest++, n++) {
			if (n >= FRACTION_DIGITS_MAX)
				continue; /* finer than any unit can show */
			d.fraction = d.fraction * 10 + (uint64_t)(*d.rest - '0');
			d.scale *= 10;
		}
	}
	*ret = d;
	return HAUL_OK;
}

/* decimal times unit, the fraction rounded down. */
static haul_status decimal_times(const struct decimal *d, uint64_t unit, uint64_t *ret_product)
{
	uint64_t product;
	double part = (double)d->fraction / (double)d->scale * (double)unit;

	if (haul_failed(haul_mul_u64(d->whole, unit, &product)) ||
	    haul_failed(haul_add_u64(product, (uint64_t)part, &product)))
		return HAUL_OVERFLOW;
	*ret_product = product;
	return HAUL_OK;
}

/* "", "K", "KiB", "KB", ... without regard to case; `bare` is the unit of a number alone. 0: no such unit. */
static uint64_t unit_bytes(const char *suffix, uint64_t bare)
{
	static const char letters[] = "KMGTP";
	const char *at;
	uint64_t step = 1024, unit = 1;

	if (!*suffix)
		return bare;
	if (!strcasecmp(suffix, "B"))
		return 1;
	at = strchr(letters, *suffix & ~0x20);
	if (!at || !*at)
		return 0;
	if (!strcasecmp(suffix + 1, "B"))
		step = 1000;
	else if (suffix[1] && strcasecmp(suffix + 1, "iB"))
		return 0;
	for (const char *l = letters; l <= at; l++)
		unit *= step;
	return unit;
}

static haul_status with_unit(const char *text, uint64_t bare, uint64_t *ret)
{
	struct decimal d;
	haul_status st = decimal_parse(text, &d);
	uint64_t unit;

	if (haul_failed(st))
		return st;
	unit = unit_bytes(d.rest, bare);
	if (!unit)
		return HAUL_BAD_VALUE;
	return decimal_times(&d, unit, ret);
}

haul_status size_parse(const char *text, uint64_t *ret_bytes)
{
	return with_unit(text, 1, ret_bytes);
}

haul_status rate_parse(const char *text, uint64_t *ret_bytes_per_s)
{
	char plain[64];
	size_t len = strlen(text);

	if (len >= sizeof(plain))
		return HAUL_BAD_VALUE;
	memcpy(plain, text, len + 1);
	if (len > 2 && !strcmp(plain + len - 2, "/s"))
		plain[len - 2] = '\0';
	return with_unit(plain, 1024, ret_bytes_per_s);
}

haul_status wait_parse(const char *text, uint32_t *ret_ms)
{
	static const struct {
		const char *suffix;
		uint64_t ms;
	} units[] = { { "", 1000 },     { "ms", 1 },       { "s", 1000 },         { "m", 60000 },
		      { "h", 3600000 }, { "d", 86400000 }, { "w", 7 * 86400000U } };
	struct decimal d;
	haul_status st = decimal_parse(text, &d);
	uint64_t ms;

	if (haul_failed(st))
		return st;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(d.rest, units[i].suffix))
			continue;
		if (haul_failed(decimal_times(&d, units[i].ms, &ms)) || ms > UINT32_MAX)
			return HAUL_OVERFLOW;
		*ret_ms = (uint32_t)ms;
		return HAUL_OK;
	}
	return HAUL_BAD_VALUE;
}

haul_status number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	struct decimal d;
	haul_status st = decimal_parse(text, &d);

	if (haul_failed(st))
		return st;
	if (*d.rest || d.scale != 1 || d.whole < min || d.whole > max)
		return HAUL_BAD_VALUE;
	*ret_number = d.whole;
	return HAUL_OK;
}

haul_status seconds_parse(const char *text, double *ret_seconds)
{
	struct decimal d;
	haul_status st = decimal_parse(text, &d);

	if (haul_failed(st))
		return st;
	if (*d.rest && strcmp(d.rest, "s"))
		return HAUL_BAD_VALUE;
	*ret_seconds = (double)d.whole + (double)d.fraction / (double)d.scale;
	return HAUL_OK;
}

/* Three significant digits with the unit that keeps the number below 1000, also after rounding. */
static void scaled_text(double value, const char *end, char ret_text[SIZE_TEXT_MAX])
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
	size_t unit = 0;
	int digits;

	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	(void)snprintf(ret_text, SIZE_TEXT_MAX, "%.*f %s%s", digits, value, units[unit], end);
}

const char *size_text(uint64_t bytes, char ret_text[SIZE_TEXT_MAX])
{
	scaled_text((double)bytes, "", ret_text);
	return ret_text;
}

const char *rate_text(double bytes_per_s, char ret_text[SIZE_TEXT_MAX])
{
	scaled_text(isfinite(bytes_per_s) && bytes_per_s > 0 ? bytes_per_s : 0, "/s", ret_text);
	return ret_text;
}

const char *duration_text(double seconds, char ret_text[SIZE_TEXT_MAX])
{
	static const double day = 86400;
	uint64_t minutes;

	if (!isfinite(seconds) || seconds < 0)
		seconds = 0;
	if (seconds < 9.95) {
		(void)snprintf(ret_text, SIZE_TEXT_MAX, "%.1f s", seconds);
	} else if (seconds < 119.5) {
		(void)snprintf(ret_text, SIZE_TEXT_MAX, "%.0f s", seconds);
	} else if (seconds < 3570) {
		(void)snprintf(ret_text, SIZE_TEXT_MAX, "%.0f min", seconds / 60);
	} else if (seconds < 2 * day) {
		minutes = (uint64_t)(seconds / 60 + 0.5);
		(void)snprintf(ret_text, SIZE_TEXT_MAX, "%llu h %02llu min", (unsigned long long)(minutes / 60),
			       (unsigned long long)(minutes % 60));
	} else {
		(void)snprintf(ret_text, SIZE_TEXT_MAX, "%.1f days", seconds / day);
	}
	return ret_text;
}

const char *count_text(uint64_t count, char ret_text[SIZE_TEXT_MAX])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			ret_text[out++] = ',';
		ret_text[out++] = digits[i];
	}
	ret_text[out] = '\0';
	return ret_text;
}

static const struct {
	const char *word;
	uint32_t every_s;
} spans[] = { { "", 0 }, { "/day", QUOTA_DAY_S }, { "/week", QUOTA_WEEK_S }, { "/month", QUOTA_MONTH_S } };

enum { SPANS = sizeof(spans) / sizeof(spans[0]) };

haul_status quota_parse(const char *text, int64_t since_s, struct quota_limit *ret_quota)
{
	size_t len = strcspn(text, "/"), i = 0;
	char size[SIZE_TEXT_MAX];
	uint64_t bytes;
	haul_status st;

	if (!strcmp(text, "none")) {
		*ret_quota = (struct quota_limit){ .bytes = 0 };
		return HAUL_OK;
	}
	while (i < SPANS && strcmp(spans[i].word, text + len))
		i++;
	if (i == SPANS || len >= sizeof(size))
		return HAUL_BAD_VALUE;
	memcpy(size, text, len);
	size[len] = '\0';
	st = size_parse(size, &bytes);
	if (haul_ok(st) && !bytes)
		st = HAUL_BAD_VALUE;
	if (haul_ok(st))
		*ret_quota = (struct quota_limit){ bytes, since_s, spans[i].every_s };
	return st;
}

const char *quota_text(const struct quota_limit *q, char ret_text[SIZE_TEXT_MAX])
{
	char size[SIZE_TEXT_MAX];
	size_t i = SPANS - 1;

	while (i && spans[i].every_s != q->every_s)
		i--;
	(void)snprintf(ret_text, SIZE_TEXT_MAX, "%.16s%s", size_text(q->bytes, size), spans[i].word);
	return ret_text;
}
