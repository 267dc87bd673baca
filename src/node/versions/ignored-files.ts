import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import ignore from "ignore";
import type { Ignore } from "ignore";

/** Says which files of a project must not be copied anywhere: those that git ignores, hidden ones, and what may be a secret. */
export class IgnoredFiles {
  /** The folder that the rules begin at: that of the repository, or of the project. */
  readonly #top: string;
  /** The rules of each folder, by its path. */
  readonly #rules = new Map<string, Ignore>();
  readonly #everywhere: Ignore;

  constructor(project: string) {
    this.#top = findRepository(project) ?? project;
    const own = process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config");
    this.#everywhere = readRules(join(own, "git/ignore"), join(this.#top, ".git/info/exclude"));
  }

  /** Whether a file or folder is ignored, or is below a folder that is. */
  has(path: string, isFolder: boolean): boolean {
    const names = relative(this.#top, path).split(sep);
    let folder = this.#top;
    const folders = [folder];
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      const here = join(folder, name);
      if (isSecret(name) || this.#isIgnored(here, folders, !isLast || isFolder)) return true;
      folder = here;
      folders.push(folder);
    }
    return false;
  }

  /** The last rule that a file or folder fits decides; those of nearer folders come later. */
  #isIgnored(path: string, folders: readonly string[], isFolder: boolean): boolean {
    let isIgnored = false;
    const look = (base: string, rules: Ignore): void => {
      const below = relative(base, path).replaceAll(sep, "/");
      const { ignored, unignored } = rules.test(isFolder ? `${below}/` : below);
      if (ignored || unignored) isIgnored = ignored;
    };
    look(this.#top, this.#everywhere);
    for (const folder of folders) look(folder, this.#rulesOf(folder));
    return isIgnored;
  }

  #rulesOf(folder: string): Ignore {
    const known = this.#rules.get(folder);
    if (known) return known;
    const rules = readRules(join(folder, ".gitignore"));
    this.#rules.set(folder, rules);
    return rules;
  }
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

/** The rules of files of git that say what is ignored. */
function readRules(...files: readonly string[]): Ignore {
  // git tells upper case from lower case.
  const rules = ignore({ ignorecase: false });
  for (const file of files) {
    try {
      rules.add(readFileSync(file, "utf8"));
    } catch {
      // There is none, or it is not for this user.
    }
  }
  return rules;
}
