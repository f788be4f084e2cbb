/* Preloaded into a server: each flush takes longer, and its clock is off by what a file says. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift_seconds;
static long slow_ms;

__attribute__((constructor)) static void begin(void) {
  const char *ms = getenv("SLOW_FLUSH_MS"), *path = getenv("CLOCK_SHIFT_FILE");
  slow_ms = ms ? atol(ms) : 0;
  if (path) {
    int fd = open(path, O_RDONLY);
    if (fd >= 0) shift_seconds = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
    if (shift_seconds == MAP_FAILED) shift_seconds = 0;
  }
}

int fdatasync(int fd) {
  struct timespec pause = {slow_ms / 1000, (slow_ms % 1000) * 1000000L};
  if (slow_ms) nanosleep(&pause, 0);
  return syscall(SYS_fdatasync, fd);
}

int clock_gettime(clockid_t which, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, which, now);
  if (!failed && which == CLOCK_REALTIME && shift_seconds) now->tv_sec += *shift_seconds;
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec real;
  (void)zone;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
  now->tv_sec = real.tv_sec + (shift_seconds ? *shift_seconds : 0);
  now->tv_usec = real.tv_nsec / 1000;
  return 0;
}
