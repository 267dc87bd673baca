import { hash } from "node:crypto";
import { readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve, sep } from "node:path";
import { AgentError, fieldOf, messageOf } from "../../errors.ts";
import { IgnoredFiles } from "./ignored-files.ts";

/** The SHA-256 of files, by their paths below the folder of their project, with `/` between the parts. */
export type FileDigests = Readonly<Record<string, string>>;

/** The code of an agent. */
export interface AgentCode {
  /** The path of the file that exports the agent. */
  readonly entry: string;
  /** The SHA-256 of its files and their places. */
  readonly digest: string;
  readonly files: FileDigests;
}

/** The files of a project. */
export class SourceFiles {
  /** The folder of the project, without symbolic links. */
  readonly project: string;
  readonly #without: readonly string[];
  readonly #ignored: IgnoredFiles;
  readonly #warn: (message: string) => void;
  /** What was read, by paths: a file that is written meanwhile, as an output of the server, stays the one that was digested. */
  readonly #contents = new Map<string, { readonly bytes: Buffer; readonly digest: string }>();
  /** The files that are not code, with their sizes; absent before they are looked for. */
  #others: readonly { readonly path: string; readonly size: number }[] | undefined;

  /**
   * Those of the project that a folder belongs to; `without` are folders whose files are not its own. `warn` gets what cannot
   * be read and is left out.
   */
  constructor(folder: string, without: readonly string[], warn: (message: string) => void) {
    this.#warn = warn;
    this.project = findProject(realpathSync(folder));
    this.#without = without;
    this.#ignored = new IgnoredFiles(this.project);
  }

  /**
   * Finds the code of an agent: its file, and those that this one names by a relative path, as an import does, or the place of a
   * worker. A name in a comment counts too, which can only add a file; a name that is computed is not found. Throws
   * `unprocessable` if one of them must not be copied.
   */
  codeOf(file: string): AgentCode {
    const first = realpathSync(file);
    const found = new Map<string, string>();
    const waiting = [first];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const below = this.#toPath(path);
      if (found.has(below)) continue;
      this.#checkOwn(path, below);
      const { bytes, digest } = this.#read(below);
      found.set(below, digest);
      if (CODE.test(path)) waiting.push(...namedIn(path, String(bytes)));
    }
    const files = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const entry = this.#toPath(first);
    return {
      entry,
      digest: hash("sha256", JSON.stringify([entry, files])),
      files: Object.fromEntries(files),
    };
  }

  /**
   * The files of the project that are not code, the nearest to some code first, up to a number of bytes; and how many there are
   * above that.
   */
  othersOf(
    { files: code }: AgentCode,
    bytes: number,
  ): { readonly files: FileDigests; readonly leftOut: number } {
    const places = [...new Set(Object.keys(code).map((path) => dirname(path)))].map(partsOf);
    const files: Record<string, string> = {};
    let left = bytes;
    let leftOut = 0;
    this.#others ??= this.#find();
    const nearest = this.#others
      .map((other) => ({ ...other, steps: Math.min(...places.map((place) => stepsTo(place, other.path))) }))
      .toSorted((a, b) => a.steps - b.steps);
    for (const { path, size } of nearest) {
      if (Object.hasOwn(code, path)) continue;
      if (size > left) {
        leftOut += 1;
        continue;
      }
      const read = this.#unlessUnreadable(path, () => this.#read(path));
      if (read === undefined) continue;
      left -= size;
      files[path] = read.digest;
    }
    return { files, leftOut };
  }

  /** The content of a file, as it was digested. */
  contentOf(path: string): Uint8Array {
    return this.#read(path).bytes;
  }

  /** The bytes of files. */
  sizeOf(files: FileDigests): number {
    return Object.keys(files).reduce((sum, path) => sum + statSync(join(this.project, path)).size, 0);
  }

  #read(path: string): { readonly bytes: Buffer; readonly digest: string } {
    const known = this.#contents.get(path);
    if (known !== undefined) return known;
    const bytes = readFileSync(join(this.project, path));
    const read = { bytes, digest: hash("sha256", bytes) };
    this.#contents.set(path, read);
    return read;
  }

  #find(): readonly { readonly path: string; readonly size: number }[] {
    const found: { readonly path: string; readonly size: number }[] = [];
    const folders = [this.project];
    for (let folder = folders.pop(); folder !== undefined && found.length < FILES; folder = folders.pop()) {
      const items = this.#unlessUnreadable(folder, () => readdirSync(folder, { withFileTypes: true })) ?? [];
      for (const item of items) {
        const path = join(folder, item.name);
        const isFolder = item.isDirectory();
        // The rules of git cost most: they are asked last.
        const isOther = isFolder ? item.name !== PACKAGES : item.isFile() && !NOT_CARRIED.test(item.name);
        if (!isOther || this.#without.includes(path) || this.#ignored.has(path, isFolder)) continue;
        if (isFolder) folders.push(path);
        else {
          const facts = this.#unlessUnreadable(path, () => statSync(path));
          if (facts) found.push({ path: this.#toPath(path), size: facts.size });
        }
      }
    }
    return found;
  }

  /** What a reading returns; `undefined`, with a warning, if the place cannot be read: the others are kept without it. */
  #unlessUnreadable<Read>(path: string, read: () => Read): Read | undefined {
    try {
      return read();
    } catch (thrown) {
      const code = fieldOf(thrown, "code");
      const reason = typeof code === "string" ? code : messageOf(thrown);
      this.#warn(
        `${cutPath(resolve(this.project, path))} cannot be read (${reason}), so that it is not kept`,
      );
      return undefined;
    }
  }

  /** Throws `unprocessable` for a file that must not be copied. */
  #checkOwn(path: string, below: string): void {
    const refuse = (fact: string): AgentError => new AgentError("unprocessable", `${below} ${fact}`);
    if (below.startsWith("../") || resolve(this.project, below) !== path)
      throw refuse("is outside of the project");
    if (below.split("/").includes(PACKAGES)) throw refuse("belongs to a package");
    if (realpathSync(path) !== path) throw refuse("is a symbolic link");
    if (this.#ignored.has(path, false)) throw refuse("is ignored by git, hidden, or named like a secret");
  }

  #toPath(path: string): string {
    return relative(this.project, path).replaceAll(sep, "/");
  }
}

/** The number of files that are looked at in a project. */
const FILES = 10_000;

const PACKAGES = "node_modules";

const CODE = /\.[cm]?[jt]sx?$/;

/** Code that is not reached, what a build writes, and the names of packages, of which those are used that are installed. */
const NOT_CARRIED =
  /\.[cm]?[jt]sx?$|\.map$|\.tsbuildinfo$|^(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?)$/;

/** The folders of a path with `/` between them. */
function partsOf(path: string): readonly string[] {
  return path === "." ? [] : path.split("/");
}

/** How many folders one goes up and down from a folder to a file. */
function stepsTo(folder: readonly string[], path: string): number {
  const parts = partsOf(path);
  const apart = parts.findIndex((part, index) => part !== folder[index]);
  return folder.length + parts.length - 2 * apart;
}

/** A path as a warning shows it: the end of a very long one says little. */
function cutPath(path: string): string {
  return path.length > 300 ? `${path.slice(0, 300)}…` : path;
}

/** The folder of a project: the nearest one with a package.json, or the one above the agents. */
function findProject(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (statSync(join(at, "package.json"), { throwIfNoEntry: false })?.isFile() === true) return at;
    if (dirname(at) === at) return dirname(folder);
  }
}

/** The files that a file names. */
function namedIn(file: string, text: string): readonly string[] {
  const named = new Set([...text.matchAll(NAME)].map(([, , name = ""]) => name));
  return [...named].flatMap((name) => {
    const path = name.startsWith("#") ? resolveAlias(file, name) : resolve(dirname(file), name);
    if (path === undefined) return [];
    const found = ENDINGS.map((ending) => `${path}${ending}`).find(isModule);
    return found === undefined ? [] : [found];
  });
}

/** A text with a relative path, or with a name that the project gives to one of its files. */
const NAME = /(["'`])(\.{1,2}\/[^"'`\n$]+|#[^"'`\n$\s]+)\1/g;

/** `require` leaves out endings. */
const ENDINGS = ["", ".js", ".json", ".cjs", ".ts", "/index.js"];

/** Whether a path is that of a file which can be imported. */
function isModule(path: string): boolean {
  const isImportable = CODE.test(path) || /\.(?:json|wasm)$/.test(path);
  return isImportable && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The file of a name in the field `imports` of package.json; `undefined` if it is a package, or no such name. */
function resolveAlias(file: string, name: string): string | undefined {
  try {
    const path = createRequire(file).resolve(name);
    return path.split(sep).includes(PACKAGES) ? undefined : path;
  } catch {
    return undefined;
  }
}
