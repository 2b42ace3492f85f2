/* Whether this kernel has the two bugs that a start and an end must work around. */
#pragma once

/* The life of a prober: a process of its own, with the connection of a CORRAL_PROBE and its
 * throw-away cgroup. Kills the cgroup, leaves no process in it, answers the flags, and exits.
 * Answers an errno instead where it cannot tell: EBUSY where the cgroup is not empty, ENOENT where
 * the kernel has no cgroup.kill. Every wait is bounded. */
_Noreturn void probe_run(int connection, int cgroup);
