// Deploys changed code under runs that wait, kills the server between, goes back, and prints how the runs ended:
// npm run test:deploys [-- --runs 1000]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT = resolve(import.meta.dirname, "../..");

/** How many runs were held, and how many ended in which way. */
export interface DeployReport {
  readonly held: number;
  readonly ended: number;
  readonly ends: Readonly<Record<string, number>>;
}

const HANDLER = `await turn.text("One moment.");
    await turn.tool(book, { seat: "1A" });
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return "ok: " + ok;`;

/** An agent file with this handler and version, and this schema of its tool. */
function toFile(handler: string, version = "1", seat = "z.string()", name = "order"): string {
  return `import { defineAgent, defineTool } from "troupe";
import * as z from "zod";
const book = defineTool({ name: "book", description: "Books.", input: z.object({ seat: ${seat} }), run: () => "booked" });
export const agent = defineAgent({
  name: "${name}", purpose: "Takes an order.", version: "${version}",
  async chat(_input, turn) {
    ${handler}
  },
});
`;
}

const ORIGINAL = toFile(HANDLER);

/** The deploys: other code of the agent, by what is changed. The last one fits. */
const DEPLOYS: Readonly<Record<string, string>> = {
  text: toFile(HANDLER.replace("One moment.", "One minute.")),
  "call added": toFile(
    HANDLER.replace("await turn.tool", 'await turn.tool(book, { seat: "0" });\n    await turn.tool'),
  ),
  "call removed": toFile(HANDLER.replace('await turn.tool(book, { seat: "1A" });', "")),
  question: toFile(HANDLER.replace("Is it right?", "Is it fine?")),
  version: toFile(HANDLER, "2"),
  "agent removed": toFile(HANDLER, "1", "z.string()", "other"),
  "schema narrowed": toFile(HANDLER, "1", 'z.enum(["2B"])'),
};

/** Makes runs that wait, answers a part of them under each deploy, and goes back to the code that they began with. */
export async function deployUnder(runs: number): Promise<DeployReport> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-deploys-"));
  try {
    await mkdir(join(folder, "agents"));
    await mkdir(join(folder, "node_modules"));
    await symlink(ROOT, join(folder, "node_modules/troupe"));
    await symlink(join(ROOT, "node_modules/zod"), join(folder, "node_modules/zod"));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    let server = await start(folder, ORIGINAL);
    const ids = Array.from({ length: runs }, (_, index) => `run-${index}`);
    await inParts(ids, (id) =>
      server.post("order", { type: "ChatRequest", input: "", request_id: id }, "?wait=completed"),
    );
    const deploys = Object.values(DEPLOYS);
    let held = 0;
    for (const [index, file] of deploys.entries()) {
      await server.kill();
      server = await start(folder, file);
      const mine = ids.filter((_, at) => at % deploys.length === index);
      await inParts(mine, (id) =>
        server.post(
          "order",
          { type: "ResumeWithInput", request_id: id, request_keys: { ok: id } },
          "?wait=true",
        ),
      );
      await inParts(mine, async (id) => {
        if ((await server.status(id))["status"] === "held") held += 1;
      });
    }
    await server.kill();
    server = await start(folder, ORIGINAL);
    const ends: Record<string, number> = {};
    await inParts(ids, async (id) => {
      const { finish_reason: reason, result } = await server.ended(id);
      const end = result === `ok: ${id}` ? String(reason) : `${String(reason)} without its answer`;
      ends[end] = (ends[end] ?? 0) + 1;
    });
    await server.kill();
    return { held, ended: Object.values(ends).reduce((sum, count) => sum + count, 0), ends };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface StartedServer {
  post(agent: string, body: object, query: string): Promise<void>;
  status(id: string): Promise<Readonly<Record<string, unknown>>>;
  /** The status when the request has ended. */
  ended(id: string): Promise<Readonly<Record<string, unknown>>>;
  /** Ends the process without a warning. */
  kill(): Promise<void>;
}

/** Serves an agent file with the built command line. */
async function start(folder: string, file: string): Promise<StartedServer> {
  await writeFile(join(folder, "agents/agent.ts"), file);
  const args = [join(ROOT, "dist/cli/main.js"), "serve", "--port", "0"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let output = "";
  const url = await new Promise<string>((found, failed) => {
    const look = (chunk: Buffer): void => {
      output += String(chunk);
      const [, at] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(output) ?? [];
      if (at !== undefined && output.includes("wires")) found(at);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    void exited.then(() => failed(new Error(`the server has ended: ${output}`)));
  });
  const status = async (id: string): Promise<Readonly<Record<string, unknown>>> =>
    (await (await fetch(`${url}/request/${id}`)).json()) as Readonly<Record<string, unknown>>;
  return {
    async post(agent, body, query) {
      const response = await fetch(`${url}/${agent}/process${query}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
    },
    status,
    async ended(id) {
      await (await fetch(`${url}/getevents/${id}?stream=true&since=0`)).arrayBuffer();
      return status(id);
    },
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Works on some of many things at a time. */
async function inParts<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += 50) await Promise.all(items.slice(at, at + 50).map(work));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { runs: { type: "string", default: "1000" } } });
  const report = await deployUnder(Number(values.runs));
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (report.ends["success"] !== Number(values.runs)) process.exitCode = 1;
}
