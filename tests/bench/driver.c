#include <unistd.h>

/* The driver of the starts: the smallest program there is, so that its own start costs least. It
 * waits to be killed, so that its end is no part of what is measured. */
int main(void) {
  (void)pause();
  return 0;
}
