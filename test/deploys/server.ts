import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";

const ROOT = resolve(import.meta.dirname, "../..");

/** A folder with agents that can import the packages of a repository: of this one, or of another one in a folder. */
export interface Project {
  readonly folder: string;
  remove(): Promise<void>;
}

export async function newProject(root: string = ROOT): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-deploys-"));
  await mkdir(join(folder, "agents"));
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/troupe"));
  for (const name of ["zod", "xstate"])
    await symlink(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function writeAgents(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `agents/${name}.ts`), text);
}

/** The runs that `troupe check` says agent files would hold, also while a server runs. */
export async function checkHeld(
  { folder }: Project,
  files: Readonly<Record<string, string>>,
): Promise<ReadonlySet<string>> {
  await writeAgents(folder, files);
  const child = spawn(process.execPath, [join(ROOT, "dist/cli/main.js"), "check", "--json"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => void (output += String(chunk)));
  await once(child, "close");
  const { misfits } = JSON.parse(output) as {
    readonly misfits: readonly { readonly outcome: string; readonly run_ids: readonly string[] }[];
  };
  return new Set(misfits.flatMap(({ outcome, run_ids }) => (outcome === "held" ? run_ids : [])));
}

export interface StartedServer {
  /** Sends a request; another time if the server does not take it at present. */
  post(agent: string, body: object, query: string): Promise<void>;
  status(id: string): Promise<Readonly<Record<string, unknown>>>;
  /** The status when the request has ended. */
  ended(id: string): Promise<Readonly<Record<string, unknown>>>;
  /** Ends the process without a warning. */
  kill(): Promise<void>;
}

/** Serves agent files of a project with the built command line. */
export async function startServer(
  { folder }: Project,
  files: Readonly<Record<string, string>>,
  {
    args = [],
    env = {},
  }: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> },
): Promise<StartedServer> {
  await writeAgents(folder, files);
  const child = spawn(process.execPath, [join(ROOT, "dist/cli/main.js"), "serve", "--port", "0", ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let [output, faults] = ["", ""];
  child.stderr.on("data", (chunk: Buffer) => void (faults += String(chunk)));
  const url = await new Promise<string>((found, failed) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += String(chunk);
      const [, at] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(output) ?? [];
      if (at !== undefined && output.includes("wires")) found(at);
    });
    void exited.then(() => failed(new Error(`the server has ended: ${output}${faults}`)));
  });
  const status = async (id: string): Promise<Readonly<Record<string, unknown>>> =>
    (await (await ask(`${url}/request/${id}`)).json()) as Readonly<Record<string, unknown>>;
  return {
    async post(agent, body, query) {
      const response = await ask(`${url}/${agent}/process${query}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}\n${output}${faults}`);
      await response.arrayBuffer();
    },
    status,
    async ended(id) {
      for (;;) {
        await (await ask(`${url}/getevents/${id}?stream=true&since=0`)).arrayBuffer();
        const now = await status(id);
        if (now["status"] === "completed") return now;
      }
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Asks a server, again while it, or the node of the run, is away. */
async function ask(url: string, request?: RequestInit): Promise<Response> {
  for (let tries = 0; ; tries += 1) {
    const response = await fetch(url, request);
    if (response.status !== 503 || tries === TRIES) return response;
    await response.arrayBuffer();
    await setTimeout(PAUSE_MS);
  }
}

/** Another node takes the runs of one that has died after some seconds. */
const TRIES = 240;
const PAUSE_MS = 250;

/** Works on some of many things at a time. */
export async function inParts<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += 50) await Promise.all(items.slice(at, at + 50).map(work));
}
