/* A driver that prints its surroundings, a `key=value` a line, and exits; with an argument more,
 * sleeps afterwards. What a test compares is read from the kernel here, not through the C library.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char** environ;

static void print_lines(const char* path, const char* prefix) {
  FILE* file = fopen(path, "re");
  char line[4096];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    printf("%s%s\n", prefix, line);
  }
  if (file != NULL) (void)fclose(file);
}

/* "Key:\tvalue" of /proc/self/status as "status.Key=value". */
static void print_status(void) {
  FILE* file = fopen("/proc/self/status", "re");
  char line[4096], key[64], value[1024];
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "%63[^:]: %1023[^\n]", key, value) == 2) printf("status.%s=%s\n", key, value);
  if (file != NULL) (void)fclose(file);
}

static void print_fds(void) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) return;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    char path[64], target[4096];
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(directory)) continue;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%.20s", entry->d_name);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    target[length < 0 ? 0 : length] = '\0';
    printf("fd=%s\nfd.%s=%s\nflags.%s=%o\n", entry->d_name, entry->d_name, target, entry->d_name,
           (unsigned)fcntl(atoi(entry->d_name), F_GETFL));
  }
  (void)closedir(directory);
}

int main(int argc, char** argv) {
  char directory[4096];
  struct rlimit files;
  int death_signal = -1;
  print_fds();
  print_status();
  (void)getrlimit(RLIMIT_NOFILE, &files);
  (void)prctl(PR_GET_PDEATHSIG, &death_signal);
  printf("soft=%llu\nhard=%llu\n", (unsigned long long)files.rlim_cur,
         (unsigned long long)files.rlim_max);
  printf("pid=%d\nsid=%d\npgid=%d\nppid=%d\n", getpid(), getsid(0), getpgid(0), getppid());
  printf("death_signal=%d\n", death_signal);
  printf("keyring=%ld\n", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
  printf("cwd=%s\n", getcwd(directory, sizeof directory) != NULL ? directory : "?");
  print_lines("/proc/self/oom_score_adj", "oom=");
  print_lines("/proc/self/cgroup", "cgroup=");
  print_lines("/proc/self/comm", "comm=");
  for (int i = 0; i < argc; ++i) printf("argv=%s\n", argv[i]);
  for (char** entry = environ; *entry != NULL; ++entry) printf("env=%s\n", *entry);
  printf("end=1\n");
  (void)fflush(stdout);
  while (argc > 1 && strcmp(argv[1], "stay") == 0) (void)pause();
  return 0;
}
