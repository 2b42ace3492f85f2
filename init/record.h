/* What the supervisor leaves behind for the service: extended attributes of `<run>` (they live as
 * long as the directory does; setting one raises IN_ATTRIB there) and a line in a file. */
#pragma once

#include <signal.h>
#include <sys/types.h>

/* user.corral.driver = {"driver":{"pid":P,"start":T},"supervisor":{"pid":P,"start":T}}; the
 * supervisor is the caller, starts are field 22 of /proc/PID/stat. 0 or -errno. */
int record_members(int run, pid_t driver);

/* user.corral.exit = {"exit":"exited|killed|dumped","status":N,"realtime":USEC,"monotonic":USEC},
 * and the same as a line at the file's end. Each is tried whether or not the other works: of two
 * there is one. */
void record_exit(int run, int file, const siginfo_t* exit);
