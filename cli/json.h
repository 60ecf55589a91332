/*
 * Events for programs: one object per line on a stream, each flushed when it is whole.
 *
 * Use: json_open(), any number of members, json_close(). Lists are opened with json_list() and closed with
 * json_list_end(); their items are texts, numbers or objects. Every line is valid JSON in valid UTF-8 whatever bytes a
 * name holds. A write that fails is seen on the stream (ferror).
 */
#ifndef HAUL_CLI_JSON_H
#define HAUL_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to; /* held until json_close() */
	bool needs_comma;
};

/* Begin {"event":EVENT. `to` is held. */
void json_open(struct json *j, FILE *to, const char *event);
void json_close(struct json *j); /* end the line and flush it */

/* key: ASCII without quotes; NULL inside a list. text NULL: null. Bytes that are no UTF-8 become U+FFFD. */
void json_text(struct json *j, const char *key, const char *text);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_real(struct json *j, const char *key, double value); /* three decimals; not finite: 0 */
void json_bool(struct json *j, const char *key, bool value);

/* A name as raw bytes: KEY as text, and KEY_b64 beside it with the very bytes when they are not UTF-8. */
void json_path(struct json *j, const char *key, const char *path, size_t len);

void json_list(struct json *j, const char *key);
void json_list_end(struct json *j);
void json_object(struct json *j); /* an object as an item of a list */
void json_object_end(struct json *j);

#endif
