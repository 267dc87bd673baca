// Loaded before a program, makes each fsync and fdatasync take SLOW_DISK_MS longer, as a disk without a fast flush does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_disk(void) {
  const char *ms = getenv("SLOW_DISK_MS");
  struct timespec left = {0, (ms ? atol(ms) : 0) * 1000000L};
  while (nanosleep(&left, &left) != 0) continue;
}

int fsync(int file) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file) {
  wait_for_disk();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
