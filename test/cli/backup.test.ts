/** @module-tag long */
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { inParts } from "../deploys/server.ts";
import { createProject, startCommand } from "./command.ts";
import type { RunningCommand } from "./command.ts";

const AGENTS = `import { defineAgent } from "troupe";
import { z } from "zod";
export const reporter = defineAgent({
  name: "reporter", purpose: "Publishes a report.", config: z.object({ api_key: z.string().default("none") }),
  async chat(title, turn) {
    await turn.text("for ");
    await turn.artifact({ name: "report.txt", mimeType: "text/plain", data: title + " ".repeat(20_000) });
    await turn.text(title);
    return turn.config.api_key;
  },
});
export const asker = defineAgent({
  name: "asker", purpose: "Asks.",
  async chat(title, turn) {
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return title + ok;
  },
});
`;

test("a backup of a directory whose server works has everything that was acknowledged before, and can be served", async () => {
  const cwd = await newProject();
  const server = new TestServer(startCommand(["serve", "--port=0"], { cwd }));
  await server.post("reporter/configure", { args: { api_key: "hidden" } });
  const load = new Load(server);
  let isOver = false;
  const working = Promise.all([1, 2].map(async (client) => load.run(client, () => isOver)));
  const known: Known[] = [];
  try {
    for (const name of ["one", "two"]) {
      const before = load.known.length + 8;
      await expect.poll(() => load.known.length).toBeGreaterThan(before);
      known.push([...load.known]);
      const backup = startCommand(["backup", `backups/${name}`, "--json"], { cwd });
      expect([await backup.exited, backup.output()]).toEqual([0, expect.stringContaining('"isOnline":true')]);
    }
  } finally {
    isOver = true;
    await working;
  }
  expect(load.failures).toEqual([]);
  for (const [index, name] of ["one", "two"].entries())
    await checkCopy(cwd, `backups/${name}`, known[index] ?? [], server);
  server.command.kill();
  expect(await server.command.exited).toBe(0);

  // Nothing works on the directory now.
  const last = startCommand(["backup", "backups/last"], { cwd });
  expect([await last.exited, last.output()]).toEqual([0, expect.stringContaining(", checked, in ")]);
  expect(await readdir(join(cwd, "backups"))).toEqual(["last", "one", "two"]);
  const again = new TestServer(startCommand(["serve", "--port=0"], { cwd }));
  await checkCopy(cwd, "backups/last", load.known, again);
});

test("a backup is refused where something is, in the data directory, and without a log", async () => {
  const cwd = await newProject();
  const refused = async (...args: readonly string[]): Promise<readonly [unknown, string]> => {
    const command = startCommand(["backup", ...args], { cwd });
    return [await command.exited, command.output()];
  };
  expect(await refused("copy")).toEqual([66, expect.stringContaining("there is no log in .troupe")]);
  const server = new TestServer(startCommand(["serve", "--port=0"], { cwd }));
  await server.url;
  await mkdir(join(cwd, "full"));
  await writeFile(join(cwd, "full/note"), "mine");
  expect(await refused("full")).toEqual([73, expect.stringContaining("full exists")]);
  expect(await refused(".troupe/copy")).toEqual([2, expect.stringContaining("outside of it")]);
  expect(await refused("postgres://db/agents")).toEqual([2, expect.stringContaining("pg_dump")]);
});

test("a backup of a damaged log is none, and says so", async () => {
  const cwd = await newProject();
  const server = new TestServer(startCommand(["serve", "--port=0"], { cwd }));
  await server.post("reporter/process?wait=completed", { input: "a" });
  server.command.kill();
  await server.command.exited;
  await writeFile(join(cwd, ".troupe/head"), "");
  const backup = startCommand(["backup", "copy"], { cwd });
  expect([await backup.exited, backup.output()]).toEqual([74, expect.stringContaining("head file")]);
  expect((await readdir(cwd)).filter((name) => name.startsWith("copy"))).toEqual([]);
});

async function newProject(): Promise<string> {
  const cwd = await createProject({ "agents/all.ts": AGENTS });
  await symlink(resolve("node_modules/zod"), join(cwd, "node_modules/zod"));
  return cwd;
}

type Known = readonly { readonly id: string; readonly title: string; readonly waits: boolean }[];

/** Serves a copy, compares what it has with the original, and answers what waits. */
async function checkCopy(cwd: string, data: string, known: Known, original: TestServer): Promise<void> {
  const doctor = startCommand(["doctor", "--data", data, "--json"], { cwd });
  await doctor.exited;
  const finding = doctor
    .output()
    .split("\n")
    .find((line) => line.includes('"data"'));
  expect(finding).toMatch(/"ok":true.*held by no process/);
  const check = startCommand(["check", data], { cwd });
  expect([await check.exited, check.output()]).toEqual([0, expect.any(String)]);

  const copy = new TestServer(startCommand(["serve", "--port=0", "--data", data], { cwd }));
  await inParts(known, async ({ id, title, waits }) => {
    const events = await copy.events(id);
    const own = events.filter(({ request_id }) => request_id === id);
    expect(own.map(({ id: number }) => number)).toEqual(own.map((_, index) => (own[0]?.id ?? 0) + index));
    expect(own.at(-1)?.type).toBe(waits ? "WaitForInput" : "RequestCompleted");
    expect(await original.events(id)).toEqual(events);
    if (waits)
      await copy.post("asker/process", {
        type: "ResumeWithInput",
        request_id: id,
        request_keys: { ok: "!" },
      });
    expect((await copy.end(id))["result"]).toBe(waits ? `${title}!` : "hidden");
    const file = own.find(({ type }) => type === "ArtifactGenerated")?.url;
    const text = file === undefined ? title : (await (await fetch((await copy.url) + file)).text()).trimEnd();
    expect([waits, text]).toEqual([file === undefined, title]);
  });
  const { result } = await copy.post("reporter/process?wait=completed", { input: "after" });
  expect(result).toBe("hidden");
  copy.command.kill();
  expect(await copy.command.exited).toBe(0);
}

interface TestEvent {
  readonly id: number;
  readonly type: string;
  readonly request_id: string;
  readonly url?: string;
}

/** A server, and requests to it. */
class TestServer {
  readonly command: RunningCommand;
  readonly url: Promise<string>;

  constructor(command: RunningCommand) {
    this.command = command;
    this.url = command.match(/http:\/\/127\.0\.0\.1:\d+/).then(async ([url]) => {
      await command.match(/wires/);
      return url;
    });
  }

  async post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${await this.url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} was answered by ${response.status}: ${text}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }

  async events(id: string): Promise<readonly TestEvent[]> {
    return (await (await fetch(`${await this.url}/getevents/${id}?since=0`)).json()) as readonly TestEvent[];
  }

  /** The status of a request when it has ended. */
  async end(id: string): Promise<Readonly<Record<string, unknown>>> {
    await (await fetch(`${await this.url}/getevents/${id}?stream=true&since=0`)).arrayBuffer();
    return (await (await fetch(`${await this.url}/request/${id}`)).json()) as Readonly<
      Record<string, unknown>
    >;
  }
}

/** Clients that start turns with a file, and turns that wait. */
class Load {
  readonly known: { readonly id: string; readonly title: string; readonly waits: boolean }[] = [];
  readonly failures: string[] = [];
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
  }

  async run(client: number, isOver: () => boolean): Promise<void> {
    for (let number = 0; !isOver(); number += 1) {
      const id = `request-${client}-${number}`;
      const waits = number % 4 === 0;
      try {
        const agent = waits ? "asker" : "reporter";
        await this.#server.post(`${agent}/process?wait=${waits ? "true" : "completed"}`, {
          input: id,
          request_id: id,
        });
        this.known.push({ id, title: id, waits });
      } catch (thrown) {
        this.failures.push(String(thrown));
      }
    }
  }
}
