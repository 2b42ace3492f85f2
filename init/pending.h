/* A connection of the spawner, from accept to the moment when a supervisor has taken it over. Never
 * waits, but for the fallback of child_bear_moved(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "init/child.h"
#include "init/supervisor.h"

struct pending {
  int connection;   /* -1: the slot is free */
  int64_t deadline; /* CLOCK_MONOTONIC, milliseconds */
  bool born;        /* a supervisor was let go, its first word is awaited */
  struct start start;
};

/* Takes the connection over. A request of another uid is answered EPERM. */
void pending_open(struct pending* pending, int connection);
/* The fd to wait for (POLLIN) while the slot is taken. */
int pending_fd(const struct pending* pending);
/* It is ready: takes the request and bears the supervisor, or hears that the supervisor lives. */
void pending_go_on(struct pending* pending);
/* The deadline is over. A client that sent nothing is dropped; a supervisor that did not come to
 * life is killed and ETIMEDOUT answered. */
void pending_give_up(struct pending* pending);
