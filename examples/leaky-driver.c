/* A run driver that does all that a run driver should not: it starts five servers and a web server,
 * each forked twice, in a session of its own, with an empty environment, makes sure that they
 * answer, and exits as if all were well. Its process group, its children and its environment lead
 * to none of them.
 *
 * Built as `leaky-driver`. Each server gives up by itself after ten minutes, should nobody end it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFETIME_SECONDS = 600, REPORT_FD = 3 };

static const char* const servers[] = {"cache", "database", "queue", "search", "stubborn", "web"};
enum { SERVERS = sizeof servers / sizeof *servers };

/* Listens on a free port of 127.0.0.1, writes the port to REPORT_FD, then answers for ever. */
static void serve(const char* name) {
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in got;
  socklen_t size = sizeof got;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (const struct sockaddr*)&any, sizeof any) != 0 ||
      listen(listener, 8) != 0 || getsockname(listener, (struct sockaddr*)&got, &size) != 0)
    err(1, "%s: listen on 127.0.0.1", name);
  const uint16_t port = ntohs(got.sin_port);
  if (write(REPORT_FD, &port, sizeof port) != sizeof port) err(1, "%s: report its port", name);
  close(REPORT_FD);

  (void)prctl(PR_SET_NAME, name);
  alarm(LIFETIME_SECONDS);
  (void)signal(SIGPIPE, SIG_IGN);
  if (strcmp(name, "stubborn") == 0) (void)signal(SIGTERM, SIG_IGN);
  for (;;) {
    const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) continue;
    char request[1024];
    if (read(client, request, sizeof request) >= 0) { /* whatever it asks, the answer is the same */
      dprintf(client, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nStill here: %s\n", name);
    }
    close(client);
  }
}

/* Forks twice and executes this program again as a server, so that nothing but its cgroup tells
 * where it is from. */
static uint16_t start(const char* name) {
  int ends[2];
  uint16_t port = 0;
  if (pipe(ends) != 0) err(1, "pipe");
  const pid_t middle = fork();
  if (middle < 0) err(1, "fork");
  if (middle == 0) {
    char* argv[] = {(char*)"leaky-driver", (char*)name, NULL};
    char* nothing[] = {NULL};
    if (setsid() < 0 || dup2(ends[1], REPORT_FD) < 0) _exit(1);
    if (fork() != 0) _exit(0);
    if (ends[0] != REPORT_FD) close(ends[0]);
    if (ends[1] != REPORT_FD) close(ends[1]);
    execve("/proc/self/exe", argv, nothing);
    _exit(1);
  }
  close(ends[1]);
  (void)waitpid(middle, NULL, 0);
  if (read(ends[0], &port, sizeof port) != sizeof port) errx(1, "%s does not come up", name);
  close(ends[0]);
  return port;
}

/* The last line of what a server answers to an HTTP request. */
static void ask(uint16_t port) {
  const struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char answer[1024];
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (server < 0 || connect(server, (const struct sockaddr*)&to, sizeof to) != 0)
    err(1, "connect to port %u", port);
  dprintf(server, "GET / HTTP/1.0\r\n\r\n");
  size_t filled = 0;
  for (ssize_t got; filled < sizeof answer - 1; filled += (size_t)got) {
    got = read(server, answer + filled, sizeof answer - 1 - filled);
    if (got <= 0) break;
  }
  answer[filled] = '\0';
  close(server);
  const char* body = strstr(answer, "\r\n\r\n");
  if (body == NULL || strncmp(answer, "HTTP/1.0 200", 12) != 0) errx(1, "port %u: no answer", port);
  printf("  GET http://127.0.0.1:%u/ says \"%.*s\"\n", port, (int)strcspn(body + 4, "\n"),
         body + 4);
}

int main(int argc, char** argv) {
  if (argc > 1) serve(argv[1]);
  uint16_t port = 0;
  for (int i = 0; i < SERVERS; ++i) {
    port = start(servers[i]);
    printf("  started %-8s on 127.0.0.1:%u\n", servers[i], port);
  }
  ask(port); /* of the last, web */
  printf("  the driver (pid %d) is done and exits 0\n", (int)getpid());
  return 0;
}
