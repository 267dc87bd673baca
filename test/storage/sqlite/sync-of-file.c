/* Makes syncs of the file SYNC_OF fail, or wait as long as there is a file SYNC_HELD, beside which it leaves word. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_file(int fd) {
  char link[64], path[PATH_MAX];
  const char *file = getenv("SYNC_OF");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (file == NULL || length < 0) return 0;
  path[length] = '\0';
  return strcmp(path, file) == 0;
}

static void wait_while_held(const char *held) {
  char reached[PATH_MAX];
  snprintf(reached, sizeof reached, "%s.reached", held);
  close(open(reached, O_CREAT | O_WRONLY, 0600));
  while (access(held, F_OK) == 0) usleep(1000);
}

static int sync_of(const char *name, int fd) {
  if (is_file(fd)) {
    const char *held = getenv("SYNC_HELD");
    if (held == NULL) {
      errno = EIO;
      return -1;
    }
    wait_while_held(held);
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(fd);
}

int fsync(int fd) { return sync_of("fsync", fd); }
int fdatasync(int fd) { return sync_of("fdatasync", fd); }
