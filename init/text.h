/* Short texts without stdio, whose buffers and tables would be private memory of every supervisor.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct text {
  char bytes[240];
  size_t length; /* never past the end: what does not fit is cut */
};

void text_add(struct text* text, const char* string);
void text_number(struct text* text, uint64_t number);
/* A field of the line of /proc/PID/stat (proc_pid_stat(5)), counted from 1, that is a number and
 * comes after the command's name, which may hold spaces and parentheses. 0 where there is none. */
uint64_t text_stat_field(const char* line, unsigned field);
/* The value of `key` in a flat keyed file (cgroup-v2.rst), -1 where it has none. */
int text_keyed_digit(const char* file, const char* key);
