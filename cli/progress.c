/* Arithmetic only: drawing is print.c's. */
#include "cli/progress.h"

#include "cli/sizes.h"

#include <stdio.h>
#include <string.h>

enum { FORECAST_BYTES = 64 << 20 };

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Rounded down, so that 100 means done. */
static unsigned percent_of(uint64_t done, uint64_t total)
{
	return done >= total ? 100 : (unsigned)less((uint64_t)((double)done / (double)total * 100.0), 99);
}

/* By bytes, or by files where there are no bytes; not 100 while either lacks something. */
static unsigned percent_now(const struct progress *p, const struct transfer_progress *now)
{
	unsigned percent = 0;

	if (now->bytes_total)
		percent = percent_of(p->bytes, now->bytes_total);
	else if (now->files_total)
		percent = percent_of(p->files, now->files_total);
	if (percent >= 100 && (p->bytes < now->bytes_total || p->files < now->files_total))
		percent = 99;
	return (unsigned)less(more(percent, p->percent), 100);
}

/* What matters most stands first: a narrow terminal cuts the end. */
static void final_text(struct progress *p, const struct transfer_progress *now, char *ret_text, size_t cap)
{
	char done[SIZE_TEXT_MAX], total[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX], time[SIZE_TEXT_MAX], files[SIZE_TEXT_MAX],
	    all[SIZE_TEXT_MAX], left[SIZE_TEXT_MAX + 8] = "";
	double remaining = (double)(now->bytes_total - less(p->bytes, now->bytes_total));

	p->percent = percent_now(p, now);
	/* The first few small files say nothing about the rate of the rest. */
	if (now->rate_bytes_per_s >= 1 && remaining > 0 && (p->percent || p->bytes >= FORECAST_BYTES))
		(void)snprintf(left, sizeof(left), ", %s left", duration_text(remaining / now->rate_bytes_per_s, time));
	(void)snprintf(ret_text, cap, "%3u %%  %s of %s, %s%s, %s of %s files", p->percent, size_text(p->bytes, done),
		       size_text(more(now->bytes_total, p->bytes), total), rate_text(now->rate_bytes_per_s, rate), left,
		       count_text(p->files, files), count_text(more(now->files_total, p->files), all));
}

static void provisional_text(const struct progress *p, const struct transfer_progress *now, char *ret_text, size_t cap)
{
	char done[SIZE_TEXT_MAX], total[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX], files[SIZE_TEXT_MAX], all[SIZE_TEXT_MAX];

	(void)snprintf(ret_text, cap, "  - %%  %s of %s or more, %s, still counting, %s of %s files",
		       size_text(p->bytes, done), size_text(more(now->bytes_total, p->bytes), total),
		       rate_text(now->rate_bytes_per_s, rate), count_text(p->files, files),
		       count_text(more(now->files_total, p->files), all));
}

const char *progress_text(struct progress *p, const struct transfer_progress *now, size_t columns,
			  char ret_text[PROGRESS_TEXT_MAX])
{
	p->bytes = more(p->bytes, now->bytes_done);
	p->files = more(p->files, now->files_done);
	if (now->totals_final)
		final_text(p, now, ret_text, PROGRESS_TEXT_MAX);
	else
		provisional_text(p, now, ret_text, PROGRESS_TEXT_MAX);
	/* The text is ASCII: a byte is a column. The last column stays free, or some terminals wrap. */
	if (columns && strlen(ret_text) >= columns)
		ret_text[columns - 1] = '\0';
	return ret_text;
}

bool progress_is_due(double *last_s, double now_s, double interval_s)
{
	if (*last_s > 0 && now_s - *last_s < interval_s)
		return false;
	*last_s = now_s > 0 ? now_s : 1e-9;
	return true;
}
