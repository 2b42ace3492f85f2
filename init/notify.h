/* Telling whoever started us that we are ready. */
#pragma once

/* READY=1 to $NOTIFY_SOCKET (sd_notify(3)) if that is set, and a byte to `fd`, which is closed,
 * unless it is -1. Nobody listening is no error. */
void notify_ready(int fd);
