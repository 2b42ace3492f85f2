/* The service's hands: takes start requests, forks supervisors, holds no state. */
#pragma once

/* Listens (listen.h) and serves, one request a connection, until SIGTERM or SIGINT: then unlinks
 * the socket it made and returns 0; its children live on. Never waits for a client: a request that
 * is not there within two seconds is dropped, and at most 64 are under way. -errno where it cannot
 * listen. */
int spawner_run(const char* path, int ready_fd);
