import { existsSync, lstatSync, readdirSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { join, sep, basename, dirname } from "node:path";

/**
 * Calls `changed` with a file name when files in a directory or its subdirectories change, and with the name of the
 * directory when it is removed, made again or replaced; once for changes in quick succession. Returns a function that stops watching. Throws if the directory cannot be read. A data
 * directory below it is left out: a server writes there.
 */
export function watchDirectory(
  directory: string,
  changed: (file: string) => void,
  data?: string,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  // One watcher per directory. Node's recursive watch uses one per file and loses a file that is replaced by
  // another, which is how many editors save.
  const watchers = new Map<string, FSWatcher>();

  enter("");
  const above = watchAbove();
  return () => {
    clearTimeout(timer);
    above?.close();
    for (const watcher of watchers.values()) watcher.close();
  };

  /** A watcher follows its directory and not its path, so the one that is made again is noticed from above. */
  function watchAbove(): FSWatcher | undefined {
    try {
      const watcher = watch(dirname(directory), (event, name) => {
        if (event !== "rename" || name !== basename(directory)) return;
        leave("");
        tryToEnter("");
        notice(name);
      });
      return watcher.on("error", () => watcher.close());
    } catch {
      // The folder above cannot be read.
      return undefined;
    }
  }

  function enter(folder: string): void {
    const path = join(directory, folder);
    const watcher = watch(path, (event, name) => {
      if (name !== null) react(join(folder, name), event === "rename");
    });
    // A removed directory is noticed from above.
    watcher.on("error", () => watcher.close());
    watchers.set(folder, watcher);
    // Only after the watcher exists, so that no change is missed.
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(folder, entry.name);
      if (entry.isDirectory() && !isIgnored(inner)) tryToEnter(inner);
    }
  }

  function react(file: string, comesOrGoes: boolean): void {
    if (isIgnored(file)) return;
    if (comesOrGoes) {
      leave(file);
      if (isDirectory(join(directory, file))) tryToEnter(file);
    }
    notice(file);
  }

  function isIgnored(file: string): boolean {
    return IGNORED.test(file) || join(directory, file) === data;
  }

  function leave(folder: string): void {
    for (const [inner, watcher] of watchers) {
      if (folder !== "" && inner !== folder && !inner.startsWith(folder + sep)) continue;
      watcher.close();
      watchers.delete(inner);
    }
  }

  /** A directory that is gone or unreadable contains nothing to load. */
  function tryToEnter(folder: string): void {
    try {
      enter(folder);
    } catch {
      leave(folder);
    }
  }

  function notice(file: string): void {
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE_MS, file);
  }
}

/** How long to wait for further changes: editors write a file in several steps. */
const SETTLE_MS = 60;

/** Hidden files, packages, and temporary files of editors. */
const IGNORED = /(^|[\\/])(\.|node_modules([\\/]|$))|~$|\.sw[a-z]$|\.tmp$/;

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

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

/** Watches the installed packages of folders. */
export interface PackageWatch {
  /** From now on `changed` is also called when one of these packages is there, which may be so already. */
  expect(names: readonly string[]): void;
  stop(): void;
}

/**
 * Calls `changed` with the path of a `node_modules` in one of these folders when a package manager has finished with it, or when
 * an expected package is there, for package managers that leave no mark.
 */
export function watchPackages(
  folders: readonly string[],
  changed: (directory: string) => void,
): PackageWatch {
  const places = folders.map((folder) => join(folder, PACKAGES));
  const watchers = new Map<string, FSWatcher>();
  let expected: readonly string[] = [];
  let timer: NodeJS.Timeout | undefined;

  for (const place of places) {
    watchPlace(dirname(place), (event, name) => {
      if (event !== "rename" || name !== PACKAGES) return;
      enter(place);
      if (INSTALLED.some((mark) => existsSync(join(place, mark)))) notice(place);
      else look();
    });
    enter(place);
  }
  return {
    expect(names) {
      expected = names;
      look();
    },
    stop() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };

  function enter(place: string): void {
    watchPlace(place, (_event, name) => {
      if (name !== null && INSTALLED.includes(name)) notice(place);
      else look();
    });
  }

  function watchPlace(path: string, react: (event: string, name: string | null) => void): void {
    watchers.get(path)?.close();
    watchers.delete(path);
    try {
      const watcher = watch(path, react);
      watcher.on("error", () => watcher.close());
      watchers.set(path, watcher);
    } catch {
      // It does not exist yet, which is noticed from above.
    }
  }

  function look(): void {
    for (const place of places)
      if (expected.some((name) => existsSync(join(place, name, "package.json")))) notice(place);
  }

  function notice(place: string): void {
    clearTimeout(timer);
    timer = setTimeout(changed, SETTLE_MS, place);
  }
}

const PACKAGES = "node_modules";

/** What npm, pnpm and Yarn write into it when they have installed everything. */
const INSTALLED: readonly string[] = [
  ".package-lock.json",
  ".modules.yaml",
  ".yarn-integrity",
  ".yarn-state.yml",
];

/** The folders of a project: those with a package.json, from a folder upwards. */
export function findPackageFolders(folder: string): readonly string[] {
  const above = dirname(folder) === folder ? [] : findPackageFolders(dirname(folder));
  return existsSync(join(folder, "package.json")) ? [folder, ...above] : above;
}
