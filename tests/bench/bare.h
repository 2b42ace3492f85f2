#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The kernel's own cost of what the service does, with nothing round it. Every failure ends the
 * program with a message: there is no figure to be had then. */

_Noreturn void bare_fail(const char* what);

uint64_t bare_nanoseconds(void); /* CLOCK_MONOTONIC */
/* clone3(2) into a cgroup's directory. */
pid_t bare_clone_into(int cgroup);
void bare_make(const char* directory);
int bare_open(const char* directory);
/* cgroup.kill of a directory. */
void bare_kill(const char* file);
/* Tries again while the kernel says EBUSY, as it does for a moment after the last process went. */
void bare_remove(const char* directory);
void bare_reap_all(void);

/* Nanoseconds from the first mkdir until the exec of `program` is seen, in a fresh directory: three
 * mkdir, one setxattr, two clone3 into a cgroup, one exec. */
uint64_t bare_start(const char* program);
/* Nanoseconds from the write of cgroup.kill until the kernel says populated 0, for a tree of
 * `count` sleepers in sessions of their own; `*seen` is how many processes were there before. */
uint64_t bare_end(const char* misbehave, const char* count, uint64_t* seen);
