#include "init/text.h"

#include <string.h>

void text_add(struct text* text, const char* string) {
  while (*string != '\0' && text->length < sizeof text->bytes)
    text->bytes[text->length++] = *string++;
}

void text_number(struct text* text, uint64_t number) {
  char digits[21];
  size_t at = sizeof digits;
  digits[--at] = '\0';
  do digits[--at] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  text_add(text, digits + at);
}

uint64_t text_stat_field(const char* line, unsigned field) {
  const char* at = strrchr(line, ')');
  for (unsigned passed = 2; at != NULL && passed < field; ++passed) {
    at = strchr(at, ' ');
    if (at != NULL) ++at;
  }
  uint64_t number = 0;
  while (at != NULL && *at >= '0' && *at <= '9') number = number * 10 + (uint64_t)(*at++ - '0');
  return number;
}

int text_keyed_digit(const char* file, const char* key) {
  const size_t length = strlen(key);
  for (const char* line = file; line != NULL && *line != '\0';) {
    if (strncmp(line, key, length) == 0 && line[length] == ' ') return line[length + 1] - '0';
    line = strchr(line, '\n');
    if (line != NULL) ++line;
  }
  return -1;
}
