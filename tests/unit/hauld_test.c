/*
 * hauld as a process, with a second home as its client on this machine: what it offers is what its lists say, changes
 * reach it at once, and it starts and stops as promised. HAULD_PROGRAM is its path.
 */
#include "agent/home.h"
#include "agent/listing.h"
#include "agent/peers.h"
#include "agent/shares.h"
#include "certs/rights.h"
#include "tests/unit/temp_directory.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { READY_MS = 10000, CHANGE_MS = 3000, CONNECT_MS = 5000, MANY = 2500 };

static struct temp_directory temp;
static struct home server_home, client_home;
static pid_t agent;
static char address[128];

/* What a listing told. */
struct told {
	char shares[256], last[300], error[512], remedy[512], known_as[64];
	uint64_t rights;
	size_t entries;
	int exit_code;
};

static void on_peer(void *ctx, const char *name, const char *software, const char *at, const char *known_as)
{
	struct told *t = ctx;

	assert_true(*name);
	assert_int_equal(strncmp(software, "haul ", 5), 0);
	assert_string_equal(at, address);
	snprintf(t->known_as, sizeof(t->known_as), "%s", known_as ? known_as : "");
}

static void on_share(void *ctx, const struct remote_share *s)
{
	struct told *t = ctx;

	snprintf(t->shares + strlen(t->shares), sizeof(t->shares) - strlen(t->shares), "%s ", s->name);
	t->rights = s->rights;
}

static void on_entry(void *ctx, const struct remote_entry *e)
{
	struct told *t = ctx;

	t->entries++;
	snprintf(t->last, sizeof(t->last), "%.*s", (int)e->name_len, e->name);
}

static void on_error(void *ctx, const struct transfer_problem *p)
{
	struct told *t = ctx;

	snprintf(t->error, sizeof(t->error), "%s", p->text);
	snprintf(t->remedy, sizeof(t->remedy), "%s", p->remedy ? p->remedy : "");
}

static struct told list(const char *place)
{
	struct told t = { .entries = 0 };
	const struct listing_observer obs = {
		.ctx = &t, .on_peer = on_peer, .on_share = on_share, .on_entry = on_entry, .on_error = on_error
	};
	struct place_spec spec;

	assert_true(haul_ok(place_spec_parse(place, &spec, NULL)));
	t.exit_code =
	    spec.is_remote ? listing_run(&client_home, &spec, CONNECT_MS, &obs) : listing_run_local(spec.path, &obs);
	place_spec_close(&spec);
	assert_int_equal(t.exit_code != 0, *t.error != '\0');
	return t;
}

/* List until the exit code is the one expected, or fail after CHANGE_MS: changes arrive within moments. */
static struct told list_until(const char *place, int exit_code)
{
	struct told t = list(place);

	for (int waited = 0; t.exit_code != exit_code && waited < CHANGE_MS; waited += 50) {
		usleep(50000);
		t = list(place);
	}
	if (t.exit_code != exit_code)
		fail_msg("%s: exit %d, %s", place, t.exit_code, t.error);
	return t;
}

/* Start hauld; its stdout is given. */
static pid_t start(int *ret_out)
{
	int out[2];
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl(HAULD_PROGRAM, "hauld", "--home", server_home.config_dir, "--listen", "127.0.0.1:0",
		      (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	*ret_out = out[0];
	return pid;
}

static void read_address(int out)
{
	struct pollfd wait = { .fd = out, .events = POLLIN };
	char line[160] = "";

	assert_int_equal(poll(&wait, 1, READY_MS), 1);
	assert_true(read(out, line, sizeof(line) - 1) > 0);
	assert_int_equal(sscanf(line, "listening %127[0-9.:]\n", address), 1);
	close(out);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	for (int waited = 0; waited < 5000; waited += 10) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 999;
}

static void introduce(const struct home *to, const struct home *whom, const char *name, const char *at)
{
	struct home_identity identity;
	struct haul_fault fault;

	assert_true(haul_ok(home_identity(whom, &identity, NULL)));
	if (haul_failed(peers_add(to, identity.device_id_text, name, &at, at ? 1 : 0, NULL, 0, &fault)))
		fail_msg("%s", fault.text);
}

static void allow(uint64_t rights)
{
	const struct peer_allow inbox = { .share = "inbox", .rights = rights };

	assert_true(haul_ok(peers_allow(&server_home, "edit1", &inbox, NULL)));
}

static void share_inbox(void)
{
	char name[] = "inbox", path[512];
	struct share s = {
		.name = name, .path = path, .own_uid = UINT64_MAX, .own_gid = UINT64_MAX, .umask = UINT32_MAX
	};

	snprintf(path, sizeof(path), "%s", temp_path(&temp, "inbox"));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(haul_ok(shares_add(&server_home, &s, NULL)));
}

static int set_up(void **state)
{
	int out;

	(void)state;
	temp_directory_open(&temp);
	assert_true(haul_ok(home_open(&server_home, temp_path(&temp, "server"), NULL)));
	assert_true(haul_ok(home_open(&client_home, temp_path(&temp, "client"), NULL)));
	share_inbox();
	agent = start(&out);
	read_address(out);
	introduce(&server_home, &client_home, "edit1", NULL);
	introduce(&client_home, &server_home, "nas", address);
	allow(RIGHTS_READER);
	(void)list_until("nas:inbox", 0);
	return 0;
}

static int tear_down(void **state)
{
	int code;

	(void)state;
	kill(agent, SIGTERM);
	code = wait_for(agent);
	home_close(&server_home);
	home_close(&client_home);
	temp_directory_close(&temp);
	assert_int_equal(code, 0);
	return 0;
}

static void test_shares_and_entries(void **state)
{
	struct told t;
	char name[32];

	(void)state;
	temp_write(&temp, "inbox/b", "12345");
	temp_write(&temp, "inbox/a", "");
	t = list("nas:");
	assert_int_equal(t.exit_code, 0);
	assert_string_equal(t.shares, "inbox ");
	assert_true(t.rights == RIGHTS_READER);
	assert_string_equal(t.known_as, "edit1");
	t = list("nas:inbox");
	assert_int_equal(t.entries, 2);
	assert_string_equal(t.last, "b");
	t = list("nas:inbox/a");
	assert_int_equal(t.entries, 1);
	assert_string_equal(t.last, "a");
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "inbox/n%05d", i);
		temp_write(&temp, name, "");
	}
	t = list("nas:inbox");
	assert_int_equal(t.entries, MANY + 2);
	t = list(temp_path(&temp, "inbox"));
	assert_int_equal(t.entries, MANY + 2);
	t = list(temp_path(&temp, "inbox/b"));
	assert_int_equal(t.entries, 1);
	assert_string_equal(t.last, "b");
	assert_int_equal(list(temp_path(&temp, "none")).exit_code, 2);
}

static void test_by_address(void **state)
{
	char place[192];
	struct told t;

	(void)state;
	snprintf(place, sizeof(place), "haul://%s/inbox", address);
	t = list(place);
	if (t.exit_code)
		fail_msg("%s", t.error);
	assert_int_equal(t.entries, 0);
}

static void test_errors(void **state)
{
	struct told t = list("nas:inbx");

	(void)state;
	assert_int_equal(t.exit_code, 6);
	assert_string_equal(t.error, "nas offers this device no share \"inbx\" (offered: inbox)");
	t = list("nas:inbox/none");
	assert_int_equal(t.exit_code, 2);
	assert_string_equal(t.error, "nas:inbox/none: no such file or directory");
	t = list("nass:inbox");
	assert_int_equal(t.exit_code, 6);
	assert_string_equal(t.error, "no peer \"nass\" (known: nas)");
}

static void test_changes_reach_it_at_once(void **state)
{
	struct told t;

	(void)state;
	allow(RIGHTS_DROPBOX);
	t = list_until("nas:inbox", 6);
	assert_string_equal(t.error, "nas: edit1 may not list inbox (has create)");
	assert_string_equal(t.remedy, "On nas run: haul peer allow edit1 inbox=backup");
	allow(RIGHTS_READER);
	(void)list_until("nas:inbox", 0);
	assert_true(haul_ok(shares_remove(&server_home, "inbox", NULL)));
	t = list_until("nas:inbox", 6);
	assert_non_null(strstr(t.error, "(offered: none)"));
	assert_true(haul_ok(peers_remove(&server_home, "edit1", NULL)));
	for (int waited = 0; !strstr(t.error, "does not know this device") && waited < CHANGE_MS; waited += 50) {
		usleep(50000);
		t = list("nas:");
	}
	assert_string_equal(t.error, "nas does not know this device");
	assert_int_equal(t.exit_code, 6);
	assert_non_null(strstr(t.remedy, "haul peer add "));
}

static void test_damaged_peers_mean_nobody(void **state)
{
	(void)state;
	temp_write(&temp, "server/peers", "not what we wrote\n");
	kill(agent, SIGHUP);
	assert_string_equal(list_until("nas:inbox", 6).error, "nas does not know this device");
}

static void test_second_agent_refuses(void **state)
{
	char addresses[128];
	int out, pid = 0;
	pid_t second = start(&out);

	(void)state;
	close(out);
	assert_int_equal(wait_for(second), 11);
	assert_true(home_agent_runs(&server_home, addresses, sizeof(addresses), &pid));
	assert_int_equal(pid, agent);
	assert_string_equal(addresses, address);
}

static void test_killed_agent_is_seen(void **state)
{
	int out;

	(void)state;
	kill(agent, SIGKILL);
	assert_int_equal(wait_for(agent), 256 + SIGKILL);
	assert_false(home_agent_runs(&server_home, NULL, 0, NULL));
	assert_int_equal(list("nas:inbox").exit_code, 5);
	agent = start(&out);
	read_address(out);
	assert_true(home_agent_runs(&server_home, NULL, 0, NULL));
}

static void assert_told(int manager, const char *state)
{
	struct pollfd wait = { .fd = manager, .events = POLLIN };
	char text[128] = "";

	assert_int_equal(poll(&wait, 1, READY_MS), 1);
	assert_true(recv(manager, text, sizeof(text) - 1, 0) > 0);
	assert_int_equal(strncmp(text, state, strlen(state)), 0);
}

static void test_service_manager_is_told(void **state)
{
	struct sockaddr_un socket_name = { .sun_family = AF_UNIX };
	int out, manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	kill(agent, SIGTERM);
	assert_int_equal(wait_for(agent), 0);
	snprintf(socket_name.sun_path, sizeof(socket_name.sun_path), "%s", temp_path(&temp, "manager"));
	assert_int_equal(bind(manager, (struct sockaddr *)&socket_name, sizeof(socket_name)), 0);
	setenv("NOTIFY_SOCKET", socket_name.sun_path, 1);
	agent = start(&out);
	unsetenv("NOTIFY_SOCKET");
	read_address(out);
	assert_told(manager, "READY=1");
	kill(agent, SIGHUP);
	assert_told(manager, "RELOADING=1\nMONOTONIC_USEC=");
	assert_told(manager, "READY=1");
	kill(agent, SIGTERM);
	assert_told(manager, "STOPPING=1");
	assert_int_equal(wait_for(agent), 0);
	close(manager);
	agent = start(&out); /* for the tear-down */
	read_address(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shares_and_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_by_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changes_reach_it_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_peers_mean_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_second_agent_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_service_manager_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_killed_agent_is_seen, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
