/* hauld's command line, and what it tells the service manager. */
#include "agent/hauld_options.h"
#include "agent/notify.h"
#include "tests/unit/temp_directory.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static haul_status parse(struct hauld_options *o, struct haul_fault *fault, const char *a, const char *b, const char *c)
{
	char *argv[] = { (char *)"hauld", (char *)a, (char *)b, (char *)c, NULL };
	int argc = 1;

	while (argv[argc])
		argc++;
	return hauld_options_parse(o, argc, argv, fault);
}

static void assert_refused(const char *words, const char *a, const char *b, const char *c)
{
	struct haul_fault fault = { .text = "" };
	struct hauld_options o;

	assert_int_equal(parse(&o, &fault, a, b, c).code, HAUL_CODE_USAGE);
	if (!strstr(fault.text, words))
		fail_msg("\"%s\" lacks \"%s\"", fault.text, words);
}

static int set_up(void **state)
{
	(void)state;
	unsetenv("HAUL_ENGINE");
	unsetenv("NOTIFY_SOCKET");
	return 0;
}

static void test_defaults(void **state)
{
	struct hauld_options o;

	(void)state;
	assert_true(haul_ok(parse(&o, NULL, NULL, NULL, NULL)));
	assert_int_equal(o.listen_count, 2);
	assert_true(o.is_default_listen);
	assert_int_equal(o.listen[0].ss_family, AF_INET);
	assert_int_equal(ntohs(((struct sockaddr_in *)&o.listen[0])->sin_port), 42850);
	assert_int_equal(o.listen[1].ss_family, AF_INET6);
	assert_int_equal(ntohs(((struct sockaddr_in6 *)&o.listen[1])->sin6_port), 42850);
	assert_true(o.budget_bytes == UINT64_C(256) << 20);
	assert_null(o.backend);
	assert_null(o.home);
	assert_false(o.is_system);
}

static void test_values(void **state)
{
	struct hauld_options o;

	(void)state;
	assert_true(haul_ok(parse(&o, NULL, "--listen=127.0.0.1:0", "--listen", "[::1]:5000")));
	assert_int_equal(o.listen_count, 2);
	assert_false(o.is_default_listen);
	assert_int_equal(((struct sockaddr_in *)&o.listen[0])->sin_port, 0);
	assert_int_equal(ntohs(((struct sockaddr_in6 *)&o.listen[1])->sin6_port), 5000);
	assert_true(haul_ok(parse(&o, NULL, "--home=/x", "-vv", "--memory=1G")));
	assert_string_equal(o.home, "/x");
	assert_int_equal(o.verbosity, 2);
	assert_true(o.budget_bytes == UINT64_C(1) << 30);
	assert_true(haul_ok(parse(&o, NULL, "--help", "--system", NULL)));
	assert_true(o.wants_help && o.is_system && !o.wants_version);
}

static void test_backend(void **state)
{
	struct hauld_options o;

	(void)state;
	setenv("HAUL_ENGINE", "threads", 1);
	assert_true(haul_ok(parse(&o, NULL, NULL, NULL, NULL)));
	assert_string_equal(o.backend, "threads");
	assert_true(haul_ok(parse(&o, NULL, "--backend=ring", NULL, NULL)));
	assert_string_equal(o.backend, "ring");
	assert_true(haul_ok(parse(&o, NULL, "--backend=auto", NULL, NULL)));
	assert_null(o.backend);
	setenv("HAUL_ENGINE", "magic", 1);
	assert_refused("HAUL_ENGINE magic", NULL, NULL, NULL);
}

static void test_refusals(void **state)
{
	(void)state;
	assert_refused("no option --lisen", "--lisen", "1.2.3.4", NULL);
	assert_refused("no option -x", "-x", NULL, NULL);
	assert_refused("no option -vx", "-vx", NULL, NULL);
	assert_refused("--listen needs a value", "--listen", NULL, NULL);
	assert_refused("not nas:inbox", "nas:inbox", NULL, NULL);
	assert_refused("exclude each other", "--system", "--home=/x", NULL);
	assert_refused("--memory 12X", "--memory=12X", NULL, NULL);
	assert_refused("--memory -1", "--memory=-1", NULL, NULL);
	assert_refused("--memory 1KiB", "--memory=1KiB", NULL, NULL);
	assert_refused("--memory 99999999999999T", "--memory=99999999999999T", NULL, NULL);
	assert_refused("at least 64M", "--memory=1M", NULL, NULL);
	assert_refused("back ends are", "--backend=x", NULL, NULL);
}

static void test_sizes(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	assert_true(haul_ok(memory_size_parse("67108864", &bytes, NULL)));
	assert_true(bytes == 67108864);
	assert_true(haul_ok(memory_size_parse("100MB", &bytes, NULL)));
	assert_true(bytes == 100000000);
	assert_true(haul_ok(memory_size_parse("2T", &bytes, NULL)));
	assert_true(bytes == UINT64_C(2) << 40);
}

static void test_listen_addresses(void **state)
{
	static const char *const bad[] = { "",        "localhost", "nas:1",  "1.2.3.4:",  "1.2.3.4:65536", "1.2.3.4:x",
					   "1.2.3:1", "[::1",      "[::1]x", "[1.2.3.4]", "::g",           ":1" };
	struct sockaddr_storage a;

	(void)state;
	assert_true(haul_ok(listen_address_parse("1.2.3.4", &a, NULL)));
	assert_true(haul_ok(listen_address_parse("::", &a, NULL)));
	assert_true(haul_ok(listen_address_parse("[fe80::1%lo]:1", &a, NULL)));
	assert_true(((struct sockaddr_in6 *)&a)->sin6_scope_id != 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (haul_ok(listen_address_parse(bad[i], &a, NULL)))
			fail_msg("%s was taken", bad[i]);
}

static void test_help_fits(void **state)
{
	const char *line = hauld_help();

	(void)state;
	while (*line) {
		size_t len = strcspn(line, "\n");

		assert_true(len <= 80);
		line += len + 1;
	}
}

static void assert_notified(struct sockaddr_un *address, size_t name_len, const char *variable)
{
	char text[64] = "";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
	    bind(fd, (struct sockaddr *)address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_len)), 0);
	setenv("NOTIFY_SOCKET", variable, 1);
	notify_manager("READY=1");
	assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), 7);
	assert_string_equal(text, "READY=1");
	close(fd);
	notify_manager("STOPPING=1"); /* nobody listens any more: no matter */
}

static void test_notify(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct temp_directory temp;
	char name[64];

	(void)state;
	notify_manager("READY=1"); /* no manager at all */
	temp_directory_open(&temp);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", temp_path(&temp, "s"));
	assert_notified(&address, strlen(address.sun_path), temp_path(&temp, "s"));
	snprintf(name, sizeof(name), "@haul-test-%d", getpid());
	memcpy(address.sun_path, name, sizeof(name));
	address.sun_path[0] = '\0';
	assert_notified(&address, strlen(name), name);
	temp_directory_close(&temp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_defaults, set_up),  cmocka_unit_test_setup(test_values, set_up),
		cmocka_unit_test_setup(test_backend, set_up),   cmocka_unit_test_setup(test_refusals, set_up),
		cmocka_unit_test_setup(test_sizes, set_up),     cmocka_unit_test_setup(test_listen_addresses, set_up),
		cmocka_unit_test_setup(test_help_fits, set_up), cmocka_unit_test_setup(test_notify, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
