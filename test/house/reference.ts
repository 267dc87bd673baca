import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** A public name: what it is declared as in the built types, and its doc comment. */
export interface PublicName {
  readonly name: string;
  readonly isType: boolean;
  /** The text of its doc comment, with one line break between paragraphs' lines; empty if it has none. */
  readonly comment: string;
  /** Its declarations, of which an overloaded function has several. */
  readonly declarations: readonly string[];
}

/** Reads the public names of an entry from its built declarations. */
export function readEntry(file: string): readonly PublicName[] {
  const statements = toStatements(readFileSync(file, "utf8"));
  const names = statements.flatMap(({ code }) => [
    ...readList(code).map(({ name, own, isType, from }) => {
      const source = resolve(dirname(file), from.replace(/\.ts$/, ".d.ts"));
      return { ...findDeclaration(source, own), name, isType };
    }),
    ...readDeclared(code).map(({ name, isType }) => ({ ...findDeclaration(file, name), name, isType })),
  ]);
  const unique = new Map(names.map((found) => [found.name, found]));
  return [...unique.values()].sort((a, b) => a.name.localeCompare(b.name, "en"));
}

/** The page of an entry, as Markdown. */
export function toPage(title: string, names: readonly PublicName[]): string {
  const [types, values] = [names.filter(({ isType }) => isType), names.filter(({ isType }) => !isType)];
  const lines = [
    `# ${title}`,
    "",
    "Generated from the doc comments of the code by `npx vitest run test/house -u`; do not edit it.",
    ...toSection("Values", values),
    ...toSection("Types", types),
  ];
  return `${lines.join("\n").replaceAll(/\n{3,}/g, "\n\n")}\n`;
}

function toSection(title: string, names: readonly PublicName[]): string[] {
  if (names.length === 0) return [];
  return ["", `## ${title}`, ...names.flatMap(toEntry)];
}

function toEntry({ name, comment, declarations }: PublicName): string[] {
  return ["", `### ${name}`, "", comment, "", "```typescript", ...declarations, "```"];
}

interface Listed {
  readonly name: string;
  /** Its name in the file that declares it. */
  readonly own: string;
  readonly isType: boolean;
  readonly from: string;
}

/** The names of `export { … } from "…"`. */
function readList(code: string): readonly Listed[] {
  const [, type = "", names = "", from = ""] = /^export (type )?\{([^}]*)\} from "([^"]+)"/.exec(code) ?? [];
  return names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .map((text) => {
      const [own = "", name = own] = text.replace(/^type /, "").split(" as ");
      return { own, name, isType: type !== "" || text.startsWith("type "), from };
    });
}

function readDeclared(code: string): readonly { readonly name: string; readonly isType: boolean }[] {
  const [, kind, name] = DECLARED.exec(code) ?? [];
  return name === undefined ? [] : [{ name, isType: kind === "type" || kind === "interface" }];
}

const DECLARED = /^export (?:declare )?(?:abstract )?(type|interface|function|const|class|enum) (\w+)/;

function findDeclaration(file: string, name: string): Omit<PublicName, "name" | "isType"> {
  const statements = toStatements(readFileSync(file, "utf8"));
  const own = statements.filter(({ code }) => readDeclared(code).some((declared) => declared.name === name));
  if (own.length > 0) {
    return {
      comment: own.map(({ comment }) => comment).find((comment) => comment !== "") ?? "",
      declarations: own.map(({ code }) =>
        withWords(code, statements)
          .replace(/^export (declare )?/, "")
          .replaceAll(/^\t+/gm, (tabs) => "  ".repeat(tabs.length)),
      ),
    };
  }
  for (const { code } of statements) {
    const listed = readList(code).find((entry) => entry.name === name);
    if (listed === undefined) continue;
    return findDeclaration(resolve(dirname(file), listed.from.replace(/\.ts$/, ".d.ts")), listed.own);
  }
  throw new Error(`${relative("", file)} does not declare ${name}`);
}

/** The words of a closed list, where a type only names the list. */
function withWords(code: string, statements: readonly Statement[]): string {
  return code.replace(/\(typeof (\w+)\)\[number\]/, (named, list: string) => {
    const words = statements
      .map(
        (other) =>
          new RegExp(`^(?:export )?declare const ${list}: readonly \\[([^\\]]*)\\]`).exec(other.code)?.[1],
      )
      .find((found) => found !== undefined);
    return words === undefined ? named : words.trim().replaceAll(/,\s*/g, " | ");
  });
}

interface Statement {
  readonly comment: string;
  readonly code: string;
}

const files = new Map<string, readonly Statement[]>();

/** Splits a declaration file, in which only the first line of a statement is not indented. */
function toStatements(text: string): readonly Statement[] {
  const known = files.get(text);
  if (known !== undefined) return known;
  const statements: { comment: string; code: string }[] = [];
  let comment: string[] = [];
  let isComment = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("/**")) [comment, isComment] = [[], true];
    if (isComment) {
      comment.push(line.replace(/\s*\*\/$/, "").replace(/^\/?\s*\*+ ?/, ""));
      isComment = !line.endsWith("*/");
    } else if (/^(export|import|declare|interface|type|const|class|function) ?/.test(line)) {
      statements.push({ comment: comment.join("\n").replace(/^\/?/, "").trim(), code: line });
      comment = [];
    } else {
      const last = statements.at(-1);
      if (last !== undefined && !line.startsWith("//#")) last.code += `\n${line}`;
    }
  }
  for (const statement of statements) statement.code = statement.code.trimEnd();
  files.set(text, statements);
  return statements;
}

/** The file of an entry's page. */
export function toPageFile(root: string, entry: string): string {
  const name = entry === "." ? "troupe" : `troupe-${entry.slice(2).replaceAll("/", "-")}`;
  return join(root, "docs/reference", `${name}.md`);
}
