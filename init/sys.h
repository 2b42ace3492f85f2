/* System calls in the form that this program needs. What can fail answers -errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* clone3(2) with CLONE_INTO_CGROUP (Linux 5.7) and CLONE_PIDFD, as fork(2) otherwise: 0 in the
 * child, which was born in the directory `cgroup`; the pid in the caller, who owns `*pidfd`. */
pid_t sys_clone_into(int cgroup, int* pidfd);
/* Whether such an error says "not here, not so", and a plain fork and a migration may still do:
 * seccomp filters and old kernels (ENOSYS, EINVAL, E2BIG, EPERM), the common ancestor is somebody
 * else's (EACCES), threaded or internal cgroups (EBUSY, EOPNOTSUPP). */
int sys_clone_into_refused(int error);

/* Closes every fd but these, the standard ones too. Sorts `keep`. */
void sys_close_all_but(int* keep, size_t count);
/* Closes first, first + 1, … */
void sys_close_from(unsigned first);

/* One write(2) of a short text to a file below `dir`: what kernel files take. 0 or -errno. */
int sys_write_at(int dir, const char* path, const char* text);
/* The beginning of a file, NUL-terminated. 0 or -errno. */
int sys_read_at(int dir, const char* path, char* buffer, size_t size);

/* Moves a process into a cgroup: all its threads, at once. 0 or -errno. */
int sys_move(int cgroup, pid_t pid);
/* 1 or 0 as cgroup.events says of the cgroup and all below it; -errno. */
int sys_populated(int cgroup);

/* When the process started, in clock ticks since boot; 0 where it is gone. */
uint64_t sys_start_time(pid_t pid);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t sys_milliseconds(void);
