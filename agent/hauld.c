/*
 * hauld: the agent in the foreground. This file is the process: options, limits, and the order in which things come up
 * and go down. What it serves is in hauld_daemon.c and, per connection, server.c.
 */
#include "agent/descriptor_limit.h"
#include "agent/exit_class.h"
#include "agent/hauld_daemon.h"
#include "agent/hauld_options.h"
#include "engine/base/log.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* No core dumps and no reading of our memory by processes of the same user: the key is in it. */
static void forbid_dumps(void)
{
	struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none))
		haul_log(HAUL_LOG_WARNING, "core dumps could not be switched off");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their leak check traces this very process */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		haul_log(HAUL_LOG_WARNING, "core dumps could not be switched off");
#endif
}

static int fail(const struct haul_fault *fault)
{
	int code = exit_class_of(fault->status);

	fprintf(stderr, "hauld: %s\n", fault->text);
	if (fault->status.code == HAUL_CODE_DENIED) /* another user's home, a port of root's */
		return EXIT_CLASS_NOT_ALLOWED;
	return code == EXIT_CLASS_USAGE || code == EXIT_CLASS_RUNNING ? code : EXIT_CLASS_BUG;
}

static int serve(const struct hauld_options *options)
{
	struct hauld_daemon *daemon;
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st;

	st = hauld_daemon_new(options, &daemon, &fault);
	if (haul_failed(st))
		return fail(&fault);
	hauld_daemon_run(daemon);
	hauld_daemon_free(daemon);
	return 0;
}

int main(int argc, char **argv)
{
	struct haul_fault fault = { .status = HAUL_OK };
	struct hauld_options options;
	haul_status st = hauld_options_parse(&options, argc, argv, &fault);

	if (haul_failed(st))
		return fail(&fault);
	if (options.wants_help || options.wants_version) {
		fputs(options.wants_help ? hauld_help() : "hauld " HAUL_VERSION "\n", stdout);
		return fflush(stdout) ? EXIT_CLASS_BUG : 0;
	}
	haul_log_set_level(options.verbosity > 1 ? HAUL_LOG_DEBUG
			   : options.verbosity   ? HAUL_LOG_INFO
						 : HAUL_LOG_WARNING);
	/*
	 * The umask stays as it was given: files of the home are made with modes of their own, and what arrives for
	 * others gets the sender's bits or the share's umask, not a daemon's 077.
	 */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a file over the limit is EFBIG: one entry's failure */
	/* Lanes, partials and directories in hand of several transfers at once. */
	if (!descriptor_limit_raise())
		haul_log(HAUL_LOG_WARNING, "the limit of open files stays as it is");
	forbid_dumps();
	return serve(&options);
}
