/* Makes fsync and fdatasync of files in FAIL_FSYNC_IN fail from the n-th call on, with n in FAIL_FSYNC_FROM. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;

static int fails(int fd) {
  char link[64], path[PATH_MAX];
  const char *directory = getenv("FAIL_FSYNC_IN"), *from = getenv("FAIL_FSYNC_FROM");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (directory == NULL || from == NULL || length < 0) return 0;
  path[length] = '\0';
  return strncmp(path, directory, strlen(directory)) == 0 && atomic_fetch_add(&calls, 1) + 1 >= atol(from);
}

static int sync_or_fail(const char *name, int fd) {
  if (fails(fd)) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}

int fsync(int fd) { return sync_or_fail("fsync", fd); }
int fdatasync(int fd) { return sync_or_fail("fdatasync", fd); }
