/* A number with its unit, or a calendar's day. */
#include "cli/age.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY_S = 86400, DIGITS_MAX = 15 };

static int64_t unit_seconds(const char *unit)
{
	static const char letters[] = "smhdw";
	static const int64_t seconds[] = { 1, 60, 3600, DAY_S, 7 * DAY_S };
	const char *at = *unit && !unit[1] ? strchr(letters, *unit) : NULL;

	return at ? seconds[at - letters] : 0;
}

static haul_status parse_ago(const char *text, const struct entry_time *now, struct entry_time *ret_then)
{
	const double longest_s = 1000.0 * 366 * DAY_S;
	size_t digits = strspn(text, "0123456789"), all = strspn(text, "0123456789.");
	char number[2 * DIGITS_MAX + 2];
	int64_t unit = unit_seconds(text + all), whole;
	double seconds;

	if (!digits || !unit || digits > DIGITS_MAX || all >= sizeof(number) || text[all - 1] == '.' ||
	    strchr(text, '.') != strrchr(text, '.'))
		return HAUL_BAD_VALUE;
	memcpy(number, text, all);
	number[all] = '\0';
	seconds = strtod(number, NULL) * (double)unit;
	if (seconds > longest_s)
		return HAUL_OVERFLOW;
	whole = (int64_t)seconds;
	*ret_then = (struct entry_time){ now->sec - whole, now->nsec };
	if (seconds - (double)whole > 0)
		ret_then->sec--; /* not a moment later than what was said */
	return HAUL_OK;
}

/* "12:00" or "12:00:30" or nothing. */
static bool parse_clock(const char *text, struct tm *to)
{
	int used = 0;

	if (!*text)
		return true;
	if ((*text != 'T' && *text != ' ') || !isdigit((unsigned char)text[1]))
		return false;
	if (sscanf(text + 1, "%2d:%2d%n", &to->tm_hour, &to->tm_min, &used) == 2 && used && !text[1 + used])
		return true;
	used = 0;
	return sscanf(text + 1, "%2d:%2d:%2d%n", &to->tm_hour, &to->tm_min, &to->tm_sec, &used) == 3 && used &&
	       !text[1 + used];
}

static haul_status parse_date(const char *text, struct entry_time *ret_then)
{
	struct tm t = { .tm_isdst = -1 }, asked;
	int used = 0;
	time_t then;

	if (strspn(text, "0123456789") != 4 ||
	    sscanf(text, "%4d-%2d-%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &used) != 3 || used != 10 ||
	    !parse_clock(text + used, &t))
		return HAUL_BAD_VALUE;
	t.tm_year -= 1900;
	t.tm_mon--;
	asked = t;
	then = mktime(&t);
	/* mktime() makes the 31st of November the 1st of December. */
	if (then == (time_t)-1 || t.tm_mday != asked.tm_mday || t.tm_mon != asked.tm_mon || asked.tm_hour > 23 ||
	    asked.tm_min > 59 || asked.tm_sec > 59)
		return HAUL_BAD_VALUE;
	*ret_then = (struct entry_time){ then, 0 };
	return HAUL_OK;
}

haul_status age_parse(const char *text, const struct entry_time *now, struct entry_time *ret_then)
{
	return strchr(text, '-') ? parse_date(text, ret_then) : parse_ago(text, now, ret_then);
}
