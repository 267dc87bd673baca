import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentError } from "../errors.ts";
import type { ConsoleFile, ConsolePages } from "../http/console/pages.ts";

/** Reads the pages of the console, for the option `console` of `createApp` and `serve`. */
export async function readConsole(): Promise<ConsolePages> {
  const folder = fileURLToPath(FOLDER);
  const { version } = JSON.parse(await readFile(PACKAGE, "utf8")) as { readonly version: string };
  let names: readonly string[];
  let page: string;
  try {
    names = await readdir(`${folder}console`);
    page = await readFile(`${folder}index.html`, "utf8");
  } catch (cause) {
    throw new AgentError("unavailable", `the console is not built: there is no ${folder}`, {
      hint: "run npm run build",
      cause,
    });
  }
  const known = names.filter((name) => extname(name) in TYPES);
  const files = await Promise.all(
    known.map(async (name): Promise<[string, ConsoleFile]> => {
      const text = await readFile(`${folder}console/${name}`, "utf8");
      return [name, { type: TYPES[extname(name)] ?? "text/plain", text }];
    }),
  );
  return { version, page, files: new Map(files) };
}

/** The built console. The address is the same from `src/node` and from `dist/node`. */
const FOLDER = new URL("../../dist/console/", import.meta.url);

const PACKAGE = new URL("../../package.json", import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};
