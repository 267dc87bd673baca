import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readVersion } from "../package-version.ts";
import { TEMPLATES } from "./templates.ts";
import type { TemplateName } from "./templates.ts";

export interface ProjectOptions {
  readonly name: string;
  readonly template: TemplateName;
}

/** Writes the files of a new project. Returns their paths in it. */
export async function writeProject(
  directory: string,
  { name, template }: ProjectOptions,
): Promise<readonly string[]> {
  const { agent, file, request, folder } = TEMPLATES[template];
  const files = new Map<string, string>([
    ["package.json", toPackageJson(directory, name, template)],
    ["tsconfig.json", toJson(TSCONFIG)],
    [".gitignore", "node_modules/\n.troupe/\n.env\n"],
    ...(await readFiles(join(FOLDER, "common"))),
    ...(await readFiles(folder === undefined ? join(FOLDER, template) : join(PACKAGE, folder))),
  ]);
  const words: Readonly<Record<string, string>> = { NAME: name, AGENT: agent, FILE: file, REQUEST: request };
  for (const [path, text] of files) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(
      target,
      text.replaceAll(/\{\{([A-Z]+)\}\}/g, (_, word: string) => words[word] ?? ""),
    );
  }
  return [...files.keys()];
}

/** Whether npm takes a text as the name of a package. */
export function isPackageName(text: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{0,213}$/.test(text);
}

/** The nearest name that npm takes. */
export function toPackageName(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 214);
  return name === "" ? "my-agents" : name;
}

/** The package's root, above this file both in src/ and in dist/. */
const PACKAGE = fileURLToPath(new URL("../../../", import.meta.url));

/** The files are compiled by the project they end up in, so they are only in src/, which is in the package. */
const FOLDER = join(PACKAGE, "src/cli/init/templates");

async function readFiles(folder: string): Promise<[path: string, text: string][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    paths
      .sort()
      .map(async (path): Promise<[string, string]> => [
        path.slice(folder.length + 1).replaceAll("\\", "/"),
        await readFile(path, "utf8"),
      ]),
  );
}

function toPackageJson(directory: string, name: string, template: TemplateName): string {
  const path = join(directory, "package.json");
  const existing = existsSync(path)
    ? (JSON.parse(readFileSync(path, "utf8")) as { readonly dependencies?: Record<string, string> })
    : {};
  const { dependencies, devDependencies } = readOwn();
  const versions = { ...devDependencies, ...dependencies };
  const packages = TEMPLATES[template].packages ?? [];
  return toJson({
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    scripts: { dev: "troupe dev", start: "troupe serve", test: "node --test" },
    dependencies: {
      troupe: findSource(),
      ...Object.fromEntries([...packages, "zod"].map((name) => [name, `^${versions[name]}`])),
      ...existing.dependencies,
    },
    devDependencies: {
      "@types/node": `^${devDependencies["@types/node"]}`,
      typescript: `^${devDependencies["typescript"]}`,
    },
    engines: { node: ">=22.18" },
  });
}

interface OwnPackage {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function readOwn(): OwnPackage {
  return JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as OwnPackage;
}

/**
 * From where the project installs troupe: the archive or folder that this command was installed from, or the registry
 * if it was installed from there.
 */
function findSource(): string {
  const holder = resolve(PACKAGE, "..", "..");
  const isInstalled = resolve(PACKAGE, "..") === join(holder, "node_modules");
  if (!isInstalled) return `file:${PACKAGE.replace(/[/\\]$/, "")}`;
  const version = `^${readVersion()}`;
  try {
    const { dependencies = {} } = JSON.parse(readFileSync(join(holder, "package.json"), "utf8")) as {
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    const [, path] = /^file:(.*)$/.exec(dependencies["troupe"] ?? "") ?? [];
    return path === undefined ? version : `file:${resolve(holder, path)}`;
  } catch {
    return version;
  }
}

const TSCONFIG = {
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    types: ["node"],
    strict: true,
    noEmit: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ["*.ts", "agents", "servers", "test"],
};

function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
