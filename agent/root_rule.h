/* What a job does with its own destination directory, where the sender announces it (JOB_ROOT_TOO). */
#ifndef HAUL_AGENT_ROOT_RULE_H
#define HAUL_AGENT_ROOT_RULE_H

/* What it gets of the source's own facts and attributes. */
enum root_rule {
	ROOT_AS_IT_IS, /* nothing: it is whose the share is, or was here before the job */
	ROOT_IS_NEW,   /* all that something new gets */
	ROOT_FOLLOWS,  /* all that an entry gets which was here */
};

#endif
