/*
 * getopt_long(3) does the splitting; what the values mean is checked here, before anything is opened. An unknown option
 * is refused, never ignored.
 */
#include "agent/hauld_options.h"

#include "agent/place_spec.h"
#include "engine/base/checked.h"
#include "engine/base/escape.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
	SHOWN_MAX = 200,
	OPTION_LISTEN = 256,
	OPTION_HOME,
	OPTION_SYSTEM,
	OPTION_BACKEND,
	OPTION_MEMORY,
	OPTION_TRACE,
	OPTION_HELP,
	OPTION_VERSION,
};

static const uint64_t default_budget_bytes = UINT64_C(256) << 20;
static const uint64_t smallest_budget_bytes = UINT64_C(64) << 20;

static const struct option known[] = {
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "home", required_argument, NULL, OPTION_HOME },
	{ "system", no_argument, NULL, OPTION_SYSTEM },
	{ "backend", required_argument, NULL, OPTION_BACKEND },
	{ "memory", required_argument, NULL, OPTION_MEMORY },
	{ "trace", required_argument, NULL, OPTION_TRACE },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "verbose", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

const char *hauld_help(void)
{
	return "usage: hauld [--listen ADDR[:PORT]]... [--home DIR | --system]\n"
	       "             [--memory SIZE] [--trace FILE] [-v]\n"
	       "\n"
	       "The haul agent: serves the shares of this machine to the devices it knows, in\n"
	       "the foreground, until it is terminated. Shares and peers are set with haul share\n"
	       "and haul peer; a running hauld of the same home takes the changes at once.\n"
	       "\n"
	       "  --listen ADDR[:PORT]  numeric address, IPv6 in brackets; may be repeated; port\n"
	       "                        0 picks a free one (default 0.0.0.0:42850, [::]:42850)\n"
	       "  --home DIR            use DIR instead of the user's own home of haul\n"
	       "  --system              use /etc/haul and /var/lib/haul\n"
	       "  --memory SIZE         for blocks in flight of all transfers (default 256M)\n"
	       "  --trace FILE          a line of JSON per block and stage of every transfer\n"
	       "  -v                    log more; twice for still more\n"
	       "  -h, --help            this text\n"
	       "  --version             the version\n"
	       "\n"
	       "Prints `listening ADDR:PORT` for each address. SIGTERM stops, SIGHUP reads peers\n"
	       "and shares again.\n";
}

static haul_status refuse_address(const char *text, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	return haul_fault_set(fault, HAUL_USAGE,
			      "--listen %s: write a numeric address and a port, 192.168.1.20:42850 or [::1]:0",
			      haul_escape(text, strlen(text), shown, sizeof(shown)));
}

/* A decimal port, 0 included; -1 when it is none. */
static int port_of(const char *text)
{
	int port = 0;

	if (!*text || strlen(text) > 5)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		port = port * 10 + (*text - '0');
	}
	return port <= UINT16_MAX ? port : -1;
}

haul_status listen_address_parse(const char *text, struct sockaddr_storage *ret_address, struct haul_fault *fault)
{
	const char *colon = strchr(text, ':'), *host = text, *after;
	bool is_v6 = *text == '[' || (colon && strchr(colon + 1, ':'));
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	char number[INET6_ADDRSTRLEN + 32];
	int port = HAUL_DEFAULT_PORT, err;
	size_t len;

	if (*text == '[') {
		host = text + 1;
		len = strcspn(host, "]");
		after = host + len + (host[len] == ']');
	} else {
		len = is_v6 || !colon ? strlen(host) : (size_t)(colon - host);
		after = host + len;
	}
	if (!len || len >= sizeof(number) || (*text == '[' && host[len] != ']'))
		return refuse_address(text, fault);
	memcpy(number, host, len);
	number[len] = '\0';
	if (*after)
		port = *after == ':' ? port_of(after + 1) : -1;
	if (port < 0)
		return refuse_address(text, fault);
	err = is_v6 ? uv_ip6_addr(number, port, (struct sockaddr_in6 *)&address)
		    : uv_ip4_addr(number, port, (struct sockaddr_in *)&address);
	if (err)
		return refuse_address(text, fault);
	*ret_address = address;
	return HAUL_OK;
}

haul_status memory_size_parse(const char *text, uint64_t *ret_bytes, struct haul_fault *fault)
{
	static const char units[] = "KMGT";
	char shown[SHOWN_MAX];
	char *end;
	uint64_t bytes = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	uint64_t step = unit && end[1] == 'B' ? 1000 : 1024;
	bool is_good = *text >= '0' && *text <= '9' && bytes != UINT64_MAX;

	if (unit) {
		for (const char *u = units; u <= unit; u++)
			is_good = is_good && haul_ok(haul_mul_u64(bytes, step, &bytes));
		end += step == 1000 ? 2 : 1;
	}
	if (!is_good || *end)
		return haul_fault_set(fault, HAUL_USAGE, "--memory %s: write a size such as 256M or 1G",
				      haul_escape(text, strlen(text), shown, sizeof(shown)));
	if (bytes < smallest_budget_bytes)
		return haul_fault_set(fault, HAUL_USAGE, "--memory: a transfer needs at least %lluM",
				      (unsigned long long)(smallest_budget_bytes >> 20));
	*ret_bytes = bytes;
	return HAUL_OK;
}

static haul_status set_backend(struct hauld_options *o, const char *text, const char *from, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	if (!strcmp(text, "auto"))
		o->backend = NULL;
	else if (!strcmp(text, "ring") || !strcmp(text, "threads"))
		o->backend = text;
	else
		return haul_fault_set(fault, HAUL_USAGE, "%s %s: the back ends are auto, ring and threads", from,
				      haul_escape(text, strlen(text), shown, sizeof(shown)));
	return HAUL_OK;
}

static haul_status add_listen(struct hauld_options *o, const char *text, struct haul_fault *fault)
{
	haul_status st;

	if (o->listen_count == HAULD_LISTEN_MAX)
		return haul_fault_set(fault, HAUL_USAGE, "at most %d addresses to listen on", HAULD_LISTEN_MAX);
	st = listen_address_parse(text, &o->listen[o->listen_count], fault);
	if (haul_ok(st))
		o->listen_count++;
	return st;
}

static haul_status take_option(struct hauld_options *o, int option, const char *refused, struct haul_fault *fault)
{
	char shown[SHOWN_MAX];

	switch (option) {
	case OPTION_LISTEN:
		return add_listen(o, optarg, fault);
	case OPTION_HOME:
		o->home = optarg;
		return HAUL_OK;
	case OPTION_SYSTEM:
		o->is_system = true;
		return HAUL_OK;
	case OPTION_BACKEND:
		return set_backend(o, optarg, "--backend", fault);
	case OPTION_MEMORY:
		return memory_size_parse(optarg, &o->budget_bytes, fault);
	case OPTION_TRACE:
		o->trace = optarg;
		return HAUL_OK;
	case OPTION_HELP:
	case 'h':
		o->wants_help = true;
		return HAUL_OK;
	case OPTION_VERSION:
		o->wants_version = true;
		return HAUL_OK;
	case 'v':
		o->verbosity++;
		return HAUL_OK;
	case ':':
		return haul_fault_set(fault, HAUL_USAGE, "%s needs a value: see hauld --help", refused);
	default:
		return haul_fault_set(fault, HAUL_USAGE, "hauld has no option %s: see hauld --help",
				      haul_escape(refused, strlen(refused), shown, sizeof(shown)));
	}
}

static haul_status set_defaults(struct hauld_options *o, struct haul_fault *fault)
{
	const char *backend = getenv("HAUL_ENGINE");
	haul_status st = HAUL_OK;

	*o = (struct hauld_options){ .budget_bytes = default_budget_bytes, .trace = getenv("HAUL_TRACE") };
	if (o->trace && !*o->trace)
		o->trace = NULL;
	if (backend && *backend)
		st = set_backend(o, backend, "HAUL_ENGINE", fault);
	return st;
}

static haul_status listen_everywhere(struct hauld_options *o, struct haul_fault *fault)
{
	haul_status st = add_listen(o, "0.0.0.0", fault);

	o->is_default_listen = true;
	return haul_ok(st) ? add_listen(o, "::", fault) : st;
}

haul_status hauld_options_parse(struct hauld_options *o, int argc, char **argv, struct haul_fault *fault)
{
	haul_status st = set_defaults(o, fault);
	char shown[SHOWN_MAX];
	int option;

	optind = 0; /* getopt(3): also starts anew when it ran before */
	while (haul_ok(st)) {
		int at = optind ? optind : 1;

		option = getopt_long(argc, argv, "+:hv", known, NULL);
		if (option == -1)
			break;
		st = take_option(o, option, argv[at], fault);
	}
	if (haul_failed(st))
		return st;
	if (optind < argc)
		return haul_fault_set(fault, HAUL_USAGE, "hauld takes options only, not %s: see hauld --help",
				      haul_escape(argv[optind], strlen(argv[optind]), shown, sizeof(shown)));
	if (o->home && o->is_system)
		return haul_fault_set(fault, HAUL_USAGE, "--home and --system exclude each other");
	return o->listen_count ? HAUL_OK : listen_everywhere(o, fault);
}
