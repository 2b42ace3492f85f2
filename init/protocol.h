/* What corrald and the spawner say to each other. One connection (SOCK_SEQPACKET, unix(7)) is one
 * request: the client connects, sends one message with its fds (SCM_RIGHTS) and reads one reply.
 * The spawner answers only peers of its own uid or root (SO_PEERCRED). End of file instead of a
 * reply: the process that was to answer died. Host byte order: both ends run on one machine, from
 * one build. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORRAL_PROTOCOL 1u

enum corral_kind {
  CORRAL_START = 1, /* fds: spec (memfd), <run>, <run>/init, <run>/work, exit file, then one for
                       each stream of kind CORRAL_STREAM_FD in the order stdin, stdout, stderr */
  CORRAL_PROBE = 2, /* fds: a throw-away cgroup directory, empty, which the prober may kill */
};

struct corral_request {
  uint32_t protocol; /* CORRAL_PROTOCOL */
  uint32_t kind;     /* enum corral_kind */
};

enum corral_stream {
  CORRAL_STREAM_NULL = 0,     /* /dev/null */
  CORRAL_STREAM_APPEND = 1,   /* the path, O_APPEND|O_CREAT 0666 */
  CORRAL_STREAM_TRUNCATE = 2, /* the path, O_TRUNC|O_CREAT 0666 */
  CORRAL_STREAM_FD = 3,
};

/* The spec: this header, then NUL-terminated strings, in this order: working directory, three
 * stream paths ("" where the kind has none), argc arguments, envc NAME=value. `bytes` is the length
 * of all strings. stdin is opened for reading, the others for writing. */
struct corral_spec {
  uint32_t protocol;
  uint32_t argc; /* at least 1 */
  uint32_t envc;
  uint32_t stream[3]; /* enum corral_stream */
  uint64_t bytes;
};

/* Where a start failed. Each is in the words of corral_step_name(). ECANCELED at a clone step: the
 * child was killed at its birth, born and moved. EBADMSG, EPROTONOSUPPORT, EFBIG and EPERM at the
 * request step: the message, its protocol, the size of its spec, its sender. */
enum corral_step {
  CORRAL_STEP_NONE = 0, /* it did not: the driver executed */
  CORRAL_STEP_REQUEST,
  CORRAL_STEP_CLONE_SUPERVISOR,
  CORRAL_STEP_MOVE_SUPERVISOR,
  CORRAL_STEP_PIPE,
  CORRAL_STEP_CLONE_DRIVER,
  CORRAL_STEP_MOVE_DRIVER,
  CORRAL_STEP_RECORD_DRIVER,
  CORRAL_STEP_SESSION,
  CORRAL_STEP_STDIN,
  CORRAL_STEP_STDOUT,
  CORRAL_STEP_STDERR,
  CORRAL_STEP_WORKING_DIRECTORY,
  CORRAL_STEP_LIMITS,
  CORRAL_STEP_EXEC,
};

static inline const char* corral_step_name(uint32_t step) {
  switch (step) {
    case CORRAL_STEP_NONE:
      return "executed";
    case CORRAL_STEP_REQUEST:
      return "request";
    case CORRAL_STEP_CLONE_SUPERVISOR:
      return "clone supervisor";
    case CORRAL_STEP_MOVE_SUPERVISOR:
      return "move supervisor";
    case CORRAL_STEP_PIPE:
      return "pipe";
    case CORRAL_STEP_CLONE_DRIVER:
      return "clone driver";
    case CORRAL_STEP_MOVE_DRIVER:
      return "move driver";
    case CORRAL_STEP_RECORD_DRIVER:
      return "record driver";
    case CORRAL_STEP_SESSION:
      return "new session";
    case CORRAL_STEP_STDIN:
      return "open standard input";
    case CORRAL_STEP_STDOUT:
      return "open standard output";
    case CORRAL_STEP_STDERR:
      return "open standard error";
    case CORRAL_STEP_WORKING_DIRECTORY:
      return "change directory";
    case CORRAL_STEP_LIMITS:
      return "set limits";
    case CORRAL_STEP_EXEC:
      return "exec";
    default:
      return "unknown step";
  }
}

enum corral_reply_flags {
  CORRAL_SUPERVISOR_MOVED =
      1u << 0, /* cloning into the cgroup was refused or killed at birth: forked and moved */
  CORRAL_DRIVER_MOVED = 1u << 1,
  CORRAL_BUG_DEAD_LEADER =
      1u << 2, /* probe: cgroup.kill spares a process whose group leader called pthread_exit */
  CORRAL_BUG_KILLED_BIRTH =
      1u << 3, /* probe: a child cloned into a cgroup that was once killed is SIGKILLed at birth */
};

/* The reply to CORRAL_START comes when the driver has executed (step NONE; fds: pidfd of the
 * supervisor, pidfd of the driver), or names the step and errno; nothing of the run is left alive
 * then but the supervisor whose last act it is, so that rmdir waits for populated 0. To
 * CORRAL_PROBE: step, error, flags. */
struct corral_reply {
  uint32_t protocol;
  uint32_t step;              /* enum corral_step */
  int32_t error;              /* errno; 0 with CORRAL_STEP_NONE */
  uint32_t flags;             /* enum corral_reply_flags */
  int32_t supervisor, driver; /* pids, for records and messages */
};

#ifdef __cplusplus
}
#endif
