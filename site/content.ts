import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

/** The root of the repository, and the folders that this module fills for Astro. */
const root = resolve(import.meta.dirname, "..");
const pages = join(import.meta.dirname, "src/content/docs");
const files = join(import.meta.dirname, "public/files");

/** The documents at the root of the repository, by their place in the site. */
const ROOT_PAGES: Readonly<Record<string, string>> = {
  "PROTOCOL.md": "protocol",
  "CHANGELOG.md": "changelog",
  "CONTRIBUTING.md": "contributing",
  "AGENTS.md": "contributing/map",
  "SECURITY.md": "security",
};

/** Where each document of the repository stands in the site: `docs/guide/tools.md` at `guide/tools`. */
const places = new Map<string, string>([
  ...Object.entries(ROOT_PAGES),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path): [string, string] => [
      `docs/${path}`,
      // An address has no dot; Astro would leave it out.
      path
        .replace(/(^|\/)README\.md$/, "$1")
        .replace(/\.md$|\/$/g, "")
        .replaceAll(".", "-"),
    ]),
]);

/** Writes the pages of the site from the documents of the repository, with links that lead to the pages. */
export function writeContent(): void {
  rmSync(pages, { recursive: true, force: true });
  rmSync(files, { recursive: true, force: true });
  for (const [path, place] of places) write(place, toPage(path, place));
  cpSync(join(import.meta.dirname, "index.mdx"), join(pages, "index.mdx"));
  cpSync(join(root, "docs/llms.txt"), join(import.meta.dirname, "public/llms.txt"));
}

function write(place: string, text: string): void {
  const target = toFile(place);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

/** The file of a page. */
function toFile(place: string): string {
  // The page of a folder that has others below it.
  const isFolder = [...places.values()].some((other) => other.startsWith(`${place}/`));
  return join(pages, isFolder ? `${place}/index.md` : `${place}.md`);
}

function toPage(path: string, place: string): string {
  const text = readFileSync(join(root, path), "utf8");
  const [heading = "", title = ""] = /^# (.*)$/m.exec(text) ?? [];
  const body = text.replace(heading, "").trimStart();
  const shown = path.startsWith("docs/reference/") ? withExamples(body) : body;
  const front = `---\ntitle: ${JSON.stringify(title.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1"))}\n---\n\n`;
  return front + withLinks(shown, path, place);
}

/** The examples of doc comments as blocks of code. */
function withExamples(body: string): string {
  return body.replaceAll(
    /^@example\n([^]*?)\n(?=\n```typescript$|\n##|$(?![^]))/gm,
    (_, code: string) => `Example:\n\n\`\`\`ts\n${code.trim()}\n\`\`\`\n`,
  );
}

/** The links of a document, as they lead from its page to other pages; those in code stay as they are. */
function withLinks(body: string, path: string, place: string): string {
  const parts = body.split(/(^ *```[^]*?^ *```$|`[^`\n]*`)/m);
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(
            /(!\[[^\]]*)?(\]\()(?![a-z]+:|#)([^)\s#]+)((?:#[^)\s]*)?(?: "[^"]*")?\))/g,
            (_, picture: string | undefined, before: string, target: string, after: string) => {
              const linked = join(dirname(path), target);
              if (picture === undefined) return before + toAddress(linked, place) + after;
              // Astro reads a picture from its file, and puts it into the site.
              return picture + before + relative(dirname(toFile(place)), join(root, linked)) + after;
            },
          ),
    )
    .join("");
}

/** The address of a file of the repository, relative to a page. A file that is no page is copied into the site. */
function toAddress(path: string, from: string): string {
  const clean = path.replace(/\/$/, "");
  const up = "../".repeat(from.split("/").length);
  if (clean === "README.md") return up;
  const page = places.get(clean) ?? places.get(`${clean}/README.md`);
  if (page !== undefined) return `${up}${page}/`;
  // A folder of pages without a page of its own.
  const first = [...places].find(([other]) => other.startsWith(`${clean}/`))?.[1];
  if (first !== undefined) return `${up}${first}/`;
  const source = join(root, clean);
  if (!existsSync(source)) throw new Error(`${clean} does not exist, and a page at ${from} links it`);
  // A browser shows a folder's list of files; a text is shown, not downloaded.
  const name = clean.replaceAll("/", "-") + (/\.(?:png|svg)$/.test(clean) ? "" : ".txt");
  mkdirSync(files, { recursive: true });
  if (statSync(source).isDirectory()) {
    const names = readdirSync(source, { recursive: true, encoding: "utf8" }).sort();
    writeFileSync(join(files, name), `${clean}/\n${names.map((each) => `  ${each}\n`).join("")}`);
  } else cpSync(source, join(files, name));
  return `${up}files/${name}`;
}

/** A part of the sidebar. */
export interface SidebarGroup {
  readonly label: string;
  readonly collapsed?: boolean;
  readonly items: { readonly slug: string; readonly label?: string }[];
}

/** The sidebar: the guide in the order of the README, then the other folders. */
export function readSidebar(): SidebarGroup[] {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const listed = [...readme.matchAll(/^\| \[[^\]]*\]\((docs\/guide\/[\w-]+\.md)\)/gm)].map(
    ([, path = ""]) => path,
  );
  const guide = [...new Set([...listed, ...inFolder("docs/guide")])];
  const rest = [...places.keys()].filter((path) => /^docs\/[^/]+\.md$/.test(path)).sort();
  return [
    toGroup("Guide", guide),
    toGroup("Recipes", inFolder("docs/recipes")),
    toGroup("Protocols", ["PROTOCOL.md", "docs/adapters.md", ...inFolder("docs/protocols")]),
    toGroup(
      "Operation and costs",
      rest.filter((path) => path !== "docs/adapters.md"),
    ),
    { ...toGroup("Reference", inFolder("docs/reference")), collapsed: true },
    { ...toGroup("Decisions", inFolder("docs/decisions")), collapsed: true },
    {
      ...toGroup("Project", ["CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "AGENTS.md"]),
      collapsed: true,
    },
  ];
}

function toGroup(label: string, paths: readonly string[]): SidebarGroup {
  return { label, items: paths.map((path) => ({ slug: places.get(path) ?? basename(path) })) };
}

/** The documents of a folder, its own page first. */
function inFolder(folder: string): string[] {
  const own = [...places.keys()].filter((path) => relative(folder, path) === basename(path)).sort();
  return own.toSorted((a, b) => Number(b.endsWith("README.md")) - Number(a.endsWith("README.md")));
}
