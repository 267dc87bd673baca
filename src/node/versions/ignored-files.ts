import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, sep } from "node:path";

/** Says which files of a project must not be copied anywhere: those that git ignores, hidden ones, and what may be a secret. */
export class IgnoredFiles {
  /** The folder that the rules begin at: that of the repository, or of the project. */
  readonly #top: string;
  /** The rules of each folder, by its path. */
  readonly #rules = new Map<string, readonly Rule[]>();
  readonly #everywhere: readonly Rule[];

  constructor(project: string) {
    this.#top = findRepository(project) ?? project;
    const own = process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config");
    this.#everywhere = [join(own, "git/ignore"), join(this.#top, ".git/info/exclude")].flatMap(readRules);
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

  #isIgnored(path: string, folders: readonly string[], isFolder: boolean): boolean {
    let ignored = false;
    const look = (base: string, rules: readonly Rule[]): void => {
      const below = relative(base, path).replaceAll(sep, "/");
      for (const { pattern, onlyFolders, negated } of rules)
        if ((isFolder || !onlyFolders) && pattern.test(below)) ignored = !negated;
    };
    look(this.#top, this.#everywhere);
    for (const folder of folders) look(folder, this.#rulesOf(folder));
    return ignored;
  }

  #rulesOf(folder: string): readonly Rule[] {
    const known = this.#rules.get(folder);
    if (known) return known;
    const rules = readRules(join(folder, ".gitignore"));
    this.#rules.set(folder, rules);
    return rules;
  }
}

/** A line of a file of git that says what is ignored. */
interface Rule {
  readonly pattern: RegExp;
  readonly onlyFolders: boolean;
  readonly negated: boolean;
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

function readRules(file: string): readonly Rule[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // There is none, or it is not for this user.
    return [];
  }
  return text.split(/\r?\n/).flatMap((line) => {
    const rule = toRule(line);
    return rule === undefined ? [] : [rule];
  });
}

function toRule(line: string): Rule | undefined {
  const trimmed = line.replace(/(?<!\\) +$/, "");
  if (trimmed === "" || trimmed.startsWith("#")) return undefined;
  const negated = trimmed.startsWith("!");
  const given = negated ? trimmed.slice(1) : trimmed;
  const onlyFolders = given.endsWith("/");
  const path = onlyFolders ? given.slice(0, -1) : given;
  const isAnchored = path.includes("/");
  const source = toSource(path.replace(/^\//, ""));
  try {
    return { pattern: new RegExp(`^${isAnchored ? "" : "(?:.*/)?"}${source}$`), onlyFolders, negated };
  } catch {
    // A class of characters that JavaScript does not have.
    return undefined;
  }
}

/** The pattern of git as a regular expression. */
function toSource(path: string): string {
  return path.replaceAll(
    /\\(.)|^\*\*\/|\/\*\*\/|\/\*\*$|\*+|\?|\[(!?)((?:\\.|[^\]\\])+)\]|([.+^${}()|[\]\\])/g,
    (found, escaped?: string, not?: string, set?: string, special?: string) => {
      if (escaped !== undefined) return `\\${escaped}`;
      if (set !== undefined) return `[${not === "!" ? "^" : ""}${set}]`;
      if (special !== undefined) return `\\${special}`;
      if (found === "**/") return "(?:.*/)?";
      if (found === "/**/") return "/(?:.*/)?";
      if (found === "/**") return "/.*";
      return found === "?" ? "[^/]" : "[^/]*";
    },
  );
}
