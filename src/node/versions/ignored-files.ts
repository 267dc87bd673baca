import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, relative, sep } from "node:path";
import { ignore } from "../vendor/ignore.ts";
import type { Ignore } from "../vendor/ignore.ts";

/** Says which files of a project must not be copied anywhere: those that git ignores, hidden ones, and what may be a secret. */
export class IgnoredFiles {
  /** The folder that the rules begin at: that of the repository, or of the project. */
  readonly #top: string;
  /** The rules of each folder, by its path. */
  readonly #rules = new Map<string, FolderRules>();
  /** Whether a folder that was asked for is ignored, by its path: all files below it ask. */
  readonly #folders = new Map<string, boolean>();
  readonly #everywhere: Ignore | undefined;

  constructor(project: string) {
    this.#top = findRepository(project) ?? project;
    const own = process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config");
    this.#everywhere = readRules(join(own, "git/ignore"), join(this.#top, ".git/info/exclude"));
  }

  /** Whether a file or folder is ignored, or is below a folder that is; true for one that is not below the top. */
  has(path: string, isFolder: boolean): boolean {
    if (path === this.#top) return false;
    const known = this.#folders.get(path);
    if (isFolder && known !== undefined) return known;
    const folder = dirname(path);
    const isIgnored =
      folder === path ||
      isSecret(basename(path)) ||
      this.has(folder, true) ||
      this.#isIgnored(path, folder, isFolder);
    if (isFolder) this.#folders.set(path, isIgnored);
    return isIgnored;
  }

  /** The last rule that a file or folder fits decides; those of nearer folders come later. */
  #isIgnored(path: string, folder: string, isFolder: boolean): boolean {
    const given = [this.#rulesOf(folder)];
    for (let at = folder; at !== this.#top; at = dirname(at)) given.unshift(this.#rulesOf(dirname(at)));
    let isIgnored = false;
    for (const { base, rules } of [{ base: this.#top, rules: this.#everywhere }, ...given]) {
      if (rules === undefined) continue;
      const below = relative(base, path).replaceAll(sep, "/");
      const { ignored, unignored } = rules.test(isFolder ? `${below}/` : below);
      if (ignored || unignored) isIgnored = ignored;
    }
    return isIgnored;
  }

  #rulesOf(folder: string): FolderRules {
    const known = this.#rules.get(folder);
    if (known) return known;
    const rules = { base: folder, rules: readRules(join(folder, ".gitignore")) };
    this.#rules.set(folder, rules);
    return rules;
  }
}

/** The rules of a folder; most have none. */
interface FolderRules {
  readonly base: string;
  readonly rules: Ignore | undefined;
}

/** Whether a name is hidden, or usual for keys and passwords. */
function isSecret(name: string): boolean {
  return name.startsWith(".") || SECRET.test(name);
}

const SECRET =
  /\.(?:env|pem|key|p12|pfx|jks|keystore|kdbx|gpg|asc)$|^id_(?:rsa|dsa|ecdsa|ed25519)|(?:^|[._-])(?:secrets?|credentials?|passwords?)(?:[._-](?!.*[cm]?[jt]sx?$)|$)/i;

function findRepository(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** The rules of files of git that say what is ignored; `undefined` if there are none. */
function readRules(...files: readonly string[]): Ignore | undefined {
  let rules: Ignore | undefined;
  for (const file of files) {
    try {
      const text = readFileSync(file, "utf8");
      // git tells upper case from lower case.
      rules = (rules ?? ignore({ ignorecase: false })).add(text);
    } catch {
      // There is none, or it is not for this user.
    }
  }
  return rules;
}
