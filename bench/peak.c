/*
 * Run a program and write down the most memory it had resident, in KiB, with its children that ended.
 *
 * Usage: haul_peak FILE COMMAND [ARGUMENT...]
 *
 * Ends as the command ended: its code, or 128 and the signal; 127 when it cannot be run, 1 when FILE cannot be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_peak(const char *path)
{
	struct rusage usage;
	FILE *file = fopen(path, "w");

	if (file == NULL || getrusage(RUSAGE_CHILDREN, &usage) < 0 || fprintf(file, "%ld\n", usage.ru_maxrss) < 0 ||
	    fclose(file) != 0) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 3) {
		fputs("usage: haul_peak FILE COMMAND [ARGUMENT...]\n", stderr);
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		perror("haul_peak");
		return 1;
	}
	if (write_peak(argv[1]) != 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
