#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A program that behaves as badly as it is told to, for tests. One shape a call: `misbehave SHAPE
 * ARGUMENTS`. It says "ready" when the shape is really in place, so that no test has to wait by the
 * clock, and whatever it leaves dies by itself after kLifetime seconds, so that no broken test
 * leaves things for ever.
 *
 * Single-threaded but for `dead-leader`. What fails ends the process with status 70 and says what
 * it was. */

enum { kLifetime = 120, kFailed = 70 };

/* What becomes of the process once its shape is in place. */
enum after { LEAVE /* exits with 0, unless --stay */, STAY /* sleeps */ };

/* Each makes its shape and returns when it is in place. argv holds the shape's own arguments, as
 * many as its row in main.c asks for at least. */
typedef enum after shape(int argc, char** argv);
shape jobs, double_fork, pipe_holder, marker, no_wait; /* background.c */
shape exit_with, die_of, exec_other;                   /* exits.c */
shape hide, freeze_inner, nested, zombie_holder;       /* groups.c */
shape hung_mount;                                      /* mounts.c */
shape servers;                                         /* servers.c */
shape own_sessions, scrub, session_in_place;           /* sessions.c */
shape ignore_term, term_forks, stopped, traced;        /* signals.c */
shape storm;                                           /* storm.c */
shape bad_name, big_argv;                              /* texts.c */
shape dead_leader;                                     /* threads.c */
shape sleeper;                                         /* main.c: what others execute */

/* Says "ready" where the caller wants to hear it. Only for a shape that cannot return. */
void say_ready(void);
/* Becomes `misbehave sleeper`, which says so. */
_Noreturn void become_ready_sleeper(void);

/* base.c */
_Noreturn void fail(const char* what);    /* with errno */
long number(const char* text, long most); /* 0 to most, or it fails */
pid_t fork_or_fail(void);
/* Sleeps until something kills it, or the lifetime is over. */
_Noreturn void doze(void);
/* SIGKILL after the lifetime: for what is stopped, and would leave SIGALRM pending for ever. Not
 * inherited. */
void die_in_time(void);
/* Executes this program anew. */
_Noreturn void become(char* const argv[], char* const envp[]);

/* Counts the children that got where they were to get. */
struct gate {
  int enter, exit;
};
struct gate gate_open(void);
void gate_pass(struct gate* gate); /* in the child */
/* In the parent: returns when `count` children called gate_pass(); fails when fewer can. */
void gate_wait(struct gate* gate, long count);
/* In the child: becomes `misbehave sleeper FD MORE...`, which passes the gate once it runs. */
_Noreturn void become_sleeper(struct gate* gate, char* const more[], char* const envp[]);
