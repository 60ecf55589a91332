/* Rights as words. Parsing knows single words and bundles; printing chooses the shorter of the two. */
#include "certs/rights.h"

#include "engine/base/escape.h"

#include <stdio.h>
#include <string.h>

struct right_word {
	const char *word;
	uint64_t rights;
};

static const struct right_word words[] = {
	{ "list", RIGHT_LIST },           { "read", RIGHT_READ },     { "create", RIGHT_CREATE },
	{ "overwrite", RIGHT_OVERWRITE }, { "delete", RIGHT_DELETE }, { "meta", RIGHT_META },
	{ "special", RIGHT_SPECIAL },
};

static const struct right_word bundles[] = {
	{ "reader", RIGHTS_READER }, { "dropbox", RIGHTS_DROPBOX }, { "writer", RIGHTS_WRITER },
	{ "mirror", RIGHTS_MIRROR }, { "backup", RIGHTS_BACKUP },   { "full", RIGHTS_FULL },
};

enum { WORDS = sizeof(words) / sizeof(words[0]), BUNDLES = sizeof(bundles) / sizeof(bundles[0]) };

/* The rights of one word of `len` bytes; 0: unknown. */
static uint64_t find_word(const struct right_word *list, size_t count, const char *word, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i].word) == len && memcmp(list[i].word, word, len) == 0)
			return list[i].rights;
	}
	return 0;
}

static haul_status unknown_word(const char *word, size_t len, struct haul_fault *fault)
{
	char shown[HAUL_ESCAPED_MAX];

	return haul_fault_set(
	    fault, HAUL_BAD_VALUE,
	    "\"%s\" is no right (rights: list, read, create, overwrite, delete, meta, special; bundles: "
	    "reader, dropbox, writer, mirror, backup, full; or none)",
	    haul_escape(word, len, shown, 64));
}

haul_status rights_parse(const char *text, uint64_t *ret_rights, struct haul_fault *fault)
{
	uint64_t rights = 0;

	if (strcmp(text, "none") == 0) {
		*ret_rights = 0;
		return HAUL_OK;
	}
	for (const char *at = text;;) {
		size_t len = strcspn(at, ",");
		uint64_t found = find_word(words, WORDS, at, len);

		if (!found)
			found = find_word(bundles, BUNDLES, at, len);
		if (!found)
			return unknown_word(at, len, fault);
		rights |= found;
		if (at[len] == '\0')
			break;
		at += len + 1;
	}
	*ret_rights = rights;
	return HAUL_OK;
}

const char *rights_words(uint64_t rights, char ret_text[RIGHTS_TEXT_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < WORDS; i++) {
		if (rights & words[i].rights)
			used += (size_t)snprintf(ret_text + used, RIGHTS_TEXT_MAX - used, "%s%s", used ? "," : "",
						 words[i].word);
	}
	if (!used)
		(void)snprintf(ret_text, RIGHTS_TEXT_MAX, "none");
	return ret_text;
}

const char *rights_text(uint64_t rights, char ret_text[RIGHTS_TEXT_MAX])
{
	for (size_t i = 0; i < BUNDLES; i++) {
		if (bundles[i].rights == rights) {
			(void)snprintf(ret_text, RIGHTS_TEXT_MAX, "%s", bundles[i].word);
			return ret_text;
		}
	}
	return rights_words(rights, ret_text);
}
