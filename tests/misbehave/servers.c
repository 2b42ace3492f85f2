#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "misbehave.h"

static int listen_on_loopback(in_port_t* port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (bind(fd, (struct sockaddr*)&address, size) < 0) fail("bind");
  if (listen(fd, 8) < 0) fail("listen");
  if (getsockname(fd, (struct sockaddr*)&address, &size) < 0) fail("getsockname");
  *port = ntohs(address.sin_port);
  return fd;
}

static _Noreturn void serve(int listener, const char* name, struct gate* gate) {
  static const char kAnswer[] = "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
  if (setsid() < 0) fail("setsid"); /* its process group, too */
  if (prctl(PR_SET_NAME, name) < 0) fail("prctl PR_SET_NAME");
  gate_pass(gate);
  alarm(kLifetime);
  for (;;) {
    const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) continue;
    (void)send(client, kAnswer, sizeof kAnswer - 1, MSG_NOSIGNAL); /* the client may have gone */
    close(client);
  }
}

/* Workers "worker1" to "workerN" and "web", each with a port of its own; FILE gets a line "NAME
 * PORT" for each. */
enum after servers(int argc, char** argv) {
  (void)argc;
  const long workers = number(argv[0], 1000);
  FILE* ports = fopen(argv[1], "we");
  if (!ports) fail(argv[1]);
  struct gate gate = gate_open();
  for (long i = 1; i <= workers + 1; ++i) {
    char name[32] = "web";
    if (i <= workers) (void)snprintf(name, sizeof name, "worker%ld", i);
    in_port_t port;
    const int listener = listen_on_loopback(&port);
    if (fprintf(ports, "%s %u\n", name, (unsigned)port) < 0 || fflush(ports) != 0) fail(argv[1]);
    if (fork_or_fail() == 0) serve(listener, name, &gate);
    close(listener);
  }
  gate_wait(&gate, workers + 1);
  if (fclose(ports) != 0) fail(argv[1]);
  return LEAVE;
}
