// Nodes of this version and of the former one serve one database under load, and each is replaced by the other again and again; prints
// what clients saw: npm run test:versions [-- --minutes 60]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { newProject } from "../deploys/server.ts";
import { findFreePort } from "../machine/free-port.ts";
import { findPrograms, PostgresServer } from "../machine/postgres-server.ts";
import { Load } from "../proxies/load.ts";
import { clusterNode } from "../proxies/node.ts";
import type { Node } from "../proxies/node.ts";
import { PROXIES, findProxy, startProxy } from "../proxies/proxy.ts";
import { AGENTS as STOPPED_AGENTS } from "../proxies/roll.ts";
import { AGENTS as KILLED_AGENTS, Clients } from "../soak/clients.ts";
import { findFormer, unpack } from "./former.ts";
import type { Former } from "./former.ts";

/** How a node is replaced: stopped behind a proxy, where no request may fail, or killed, where clients repeat theirs. */
export type Way = "stopped" | "killed";

export interface VersionsReport {
  /** Nodes that were replaced by one of the other version. */
  readonly replaced: number;
  readonly turns: number;
  /** What clients saw that should not be, and what the nodes have logged as errors. */
  readonly bad: readonly string[];
}

const NODES = 3;
const CLIENTS = 4;

/**
 * Begins with nodes of the former version, replaces each by one of this version, and each of those by one of the former one, until the time
 * is over, and one more round if it ends in the middle. Then the schema is taken back, and a node of the former version shows the runs.
 */
export async function alternate(
  database: string,
  former: Former,
  { way, minutes }: { readonly way: Way; readonly minutes: number },
  progress: (line: string) => void = () => {},
): Promise<VersionsReport> {
  await using stack = new AsyncDisposableStack();
  const unpacked = await unpack(former);
  stack.defer(() => unpacked.remove());
  const versions = [
    { root: unpacked.root, program: [...FROM_SOURCES, join(unpacked.root, "src/cli/main.ts")] },
    { root: ROOT, program: [join(ROOT, "dist/cli/main.js")] },
  ];
  const projects = await Promise.all(versions.map(({ root }) => newProject(root)));
  for (const { folder, remove } of projects) {
    stack.defer(remove);
    await writeFile(join(folder, "agents/all.ts"), way === "stopped" ? STOPPED_AGENTS : KILLED_AGENTS);
  }
  // The nodes of both versions at each place have the same addresses; one of them runs.
  const places: Node[][] = [];
  for (let place = 0; place < NODES; place += 1) {
    const [port, clusterPort] = [await findFreePort(), await findFreePort()];
    places.push(
      versions.map(({ program }, version) =>
        clusterNode(
          projects[version]?.folder ?? "",
          database,
          port,
          clusterPort,
          ["--drain-seconds", "2.5"],
          program,
        ),
      ),
    );
  }
  const at = (place: number, version: number): Node => places[place]?.[version] as Node;
  for (const node of places.flat()) stack.defer(() => node.kill());
  for (let place = 0; place < NODES; place += 1) await at(place, 0).start();

  let isOver = false;
  const addresses = places.map(([node]) => node?.address ?? "");
  const load = way === "stopped" ? await stoppedLoad(stack, addresses) : killedLoad(addresses);
  const working = load.run(CLIENTS, () => isOver);
  const untilMs = performance.now() + minutes * 60_000;
  let replaced = 0;
  try {
    for (
      let version = 1;
      replaced < 2 * NODES || performance.now() < untilMs || version === 0;
      version = 1 - version
    ) {
      for (let place = 0; place < NODES; place += 1) {
        const node = at(place, 1 - version);
        if (way === "killed") await node.kill();
        else if ((await node.stop()) !== 0) throw new Error(`a node ended badly: ${node.output}`);
        await at(place, version).start();
        replaced += 1;
      }
      progress(`${way}: ${replaced} nodes were replaced; ${load.turns} turns`);
    }
  } finally {
    isOver = true;
    await working;
  }
  const bad = [...load.bad];
  for (const node of places.flat())
    bad.push(
      ...(node.output.match(/^.*\b(error|schema)\b.*$/gim) ?? []).map((line) => `${node.address}: ${line}`),
    );
  const count = async (): Promise<number> =>
    (await ask(database, "SELECT count(*)::int FROM troupe.run WHERE stored")) as number;
  const runs = await count();

  // And the schema is led back while no node runs.
  for (const node of places.flat()) await node.stop();
  const { code, output } = await command(["migrate", "--to", String(former.schema)], database);
  if (code !== 0) bad.push(`the schema was not taken back: ${output}`);
  await at(0, 0).start();
  if ((await count()) !== runs) bad.push(`there were ${runs} runs, and then ${await count()}`);
  const listed = await fetch(`http://${addresses[0]}/runs?limit=1&total=true`);
  if (!listed.ok) bad.push(`the former version answers ${listed.status} on its schema`);
  return { replaced, turns: load.turns, bad };
}

const ROOT = resolve(import.meta.dirname, "../..");
const FROM_SOURCES = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning"];

interface RunningLoad {
  run(clients: number, isOver: () => boolean): Promise<void>;
  readonly turns: number;
  readonly bad: readonly string[];
}

async function stoppedLoad(stack: AsyncDisposableStack, addresses: readonly string[]): Promise<RunningLoad> {
  const name = PROXIES.find((one) => findProxy(one) !== undefined);
  if (name === undefined) throw new Error("there is no proxy on this machine");
  const load = new Load(stack.use(await startProxy(name, addresses)).url);
  return {
    run: (clients, isOver) => load.run(clients, isOver),
    get turns() {
      return load.report.turns;
    },
    get bad() {
      return load.report.failures;
    },
  };
}

function killedLoad(addresses: readonly string[]): RunningLoad {
  const clients = new Clients("versions", addresses);
  return {
    run: (count, isOver) => clients.run(count, isOver),
    get turns() {
      return clients.turns;
    },
    get bad() {
      return clients.faults;
    },
  };
}

async function command(
  args: readonly string[],
  database: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [join(ROOT, "dist/cli/main.js"), ...args], {
    env: { ...process.env, TROUPE_LOG: database },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const pipe of [child.stdout, child.stderr])
    pipe.on("data", (chunk: Buffer) => (output += String(chunk)));
  await once(child, "close");
  return { code: child.exitCode, output };
}

async function ask(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: "60" } } });
  const minutes = Number(values.minutes);
  if (!(minutes >= 0)) throw new Error("--minutes is a number from 0 on");
  const programs = findPrograms();
  if (programs === undefined) throw new Error("there is no PostgreSQL on this machine");
  const former = await findFormer();
  if (former === undefined)
    throw new Error(
      "the history has no commit with a former schema; if it is cut off: git fetch --unshallow",
    );
  process.stdout.write(`the former version is ${former.commit}, with schema ${former.schema}\n`);
  for (const way of ["stopped", "killed"] as const) {
    const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")));
    await server.create();
    await server.start();
    try {
      const report = await alternate(server.url, former, { way, minutes: minutes / 2 }, (line) =>
        process.stderr.write(`${line}\n`),
      );
      process.stdout.write(`${way}: ${JSON.stringify(report, null, 2)}\n`);
      if (report.bad.length > 0) process.exitCode = 1;
    } finally {
      await server.remove();
    }
  }
}
