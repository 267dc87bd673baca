import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";
import { SETTLE_MS } from "./watch.ts";

/**
 * Calls `changed` with the path of a file when one of these files changes, appears or disappears. Returns how
 * to stop. The folders are watched and not the files, because many editors replace a file to save it.
 */
export function watchFiles(files: readonly string[], changed: (file: string) => void): () => void {
  const watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  for (const [folder, names] of groupByFolder(files)) {
    try {
      const watcher = watch(folder, (_event, name) => {
        const file = names.get(name ?? "");
        if (file === undefined) return;
        clearTimeout(timer);
        timer = setTimeout(changed, SETTLE_MS, file);
      });
      watcher.on("error", () => watcher.close());
      watchers.push(watcher);
    } catch {
      // A folder that does not exist or cannot be read has no file to watch.
    }
  }
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}

/** The paths of the files by name, by folder. */
function groupByFolder(files: readonly string[]): Map<string, Map<string, string>> {
  const folders = new Map<string, Map<string, string>>();
  for (const file of files) {
    const names = folders.get(dirname(file)) ?? new Map<string, string>();
    folders.set(dirname(file), names.set(basename(file), file));
  }
  return folders;
}
