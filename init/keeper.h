/* The process that holds the delegated cgroup open. */
#pragma once

/* Says that it is ready (notify.h) and sleeps until SIGTERM or SIGINT. Returns the exit status. */
int keeper_run(int ready_fd);
