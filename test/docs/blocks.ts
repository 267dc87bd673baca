import { execFile, spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/** The root of the repository. */
export const root: string = resolve(import.meta.dirname, "../..");

const curl = spawnSync("bash", ["-c", "curl --version"], { encoding: "utf8" });

/** Whether this machine can run the shell blocks, which use the option --json of curl. */
export const canRunBlocks: boolean = curl.status === 0 && /^curl ([89]|7\.8[2-9]|7\.9)/.test(curl.stdout);

/** The documents whose TypeScript blocks are compiled as a user's files. */
export const documents: readonly string[] = [
  "README.md",
  "docs/adapters.md",
  "docs/llms.txt",
  "docs/scale-out.md",
  ...["guide", "recipes"].flatMap((folder) =>
    readdirSync(join(root, "docs", folder)).map((file) => `docs/${folder}/${file}`),
  ),
  "docs/protocols/a2a.md",
  "docs/protocols/acp.md",
  "docs/protocols/ag-ui.md",
  "docs/protocols/agentscope.md",
  "docs/protocols/aip.md",
  "docs/protocols/openai.md",
  "docs/protocols/tasks.md",
  "docs/protocols/ui.md",
];

/** The code blocks below a heading of a document, up to the next heading of the same or a higher level. */
export function findBlocks(path: string, heading: string, language: string): string[] {
  const text = `\n${readFileSync(join(root, path), "utf8")}`;
  const start = text.indexOf(`\n${heading}\n`);
  const level = heading.indexOf(" ");
  const rest = text.slice(start + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, "m"));
  const section = start === -1 ? "" : rest.slice(0, end === -1 ? undefined : end);
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, code = ""]) => code,
  );
}

/** The TypeScript blocks of a document, in their order. */
export function readTypeScript(path: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
}

/** Runs a block of shell commands against a server, in a directory, and returns its output. */
export async function runBlock(script: string | undefined, address: string, cwd: string): Promise<string> {
  const own = script?.replaceAll("localhost:4100", address) ?? "echo there is no such block";
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-uc", own], { cwd }).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  return stdout;
}

/** An event as far as the tests of documents read it. */
export interface BlockEvent {
  readonly id: number;
  readonly type: string;
}

/** The data lines of a stream. */
export function toDataLines(stream: string): string[] {
  return stream.split("\n").filter((line) => line.startsWith("data: "));
}

/** The events of a stream. */
export function toEvents(stream: string): BlockEvent[] {
  return toDataLines(stream).map((line) => JSON.parse(line.slice("data: ".length)) as BlockEvent);
}
