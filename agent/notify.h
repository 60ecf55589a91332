/* Telling the service manager how we are: sd_notify(3)'s protocol, without its library. */
#ifndef HAUL_AGENT_NOTIFY_H
#define HAUL_AGENT_NOTIFY_H

/*
 * Send `state` ("READY=1", lines separated by '\n') to the socket that $NOTIFY_SOCKET names, if it names one. Never
 * blocks and never fails: a manager that does not listen is no reason not to serve.
 */
void notify_manager(const char *state);

#endif
