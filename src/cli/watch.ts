import { watch } from "node:fs";

/**
 * Calls `changed` with the name of a file when files in a directory change, once for all changes that
 * come closely together. Returns how to stop.
 */
export function watchDirectory(directory: string, changed: (file: string) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(directory, { recursive: true }, (_, file) => {
    if (file === null || IGNORED.test(file)) return;
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE_MS, file);
  });
  // A directory that goes away is found out when its files are loaded again.
  watcher.on("error", () => changed(directory));
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}

/** Editors write a file in several steps. */
const SETTLE_MS = 60;

/** Hidden files, and what editors leave beside the file they write. */
const IGNORED = /(^|[\\/])(\.|node_modules[\\/])|~$|\.sw[a-z]$|\.tmp$/;
