// Restarts three nodes one after the other, again and again, behind each proxy with the file of the package and under load, and
// prints what clients saw: npm run test:proxies [-- --rounds 20] [--requests 10000] [--proxy nginx]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { join, resolve } from "node:path";
import { tmpdir } from "node:os";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { writeFile } from "node:fs/promises";
import { newProject } from "../deploys/server.ts";
import { findFreePort } from "../machine/free-port.ts";
import { findPrograms, PostgresServer } from "../machine/postgres-server.ts";
import { Load } from "./load.ts";
import type { LoadReport } from "./load.ts";
import { PROXIES, findProxy, startProxy } from "./proxy.ts";
import type { ProxyName } from "./proxy.ts";

export interface RollOptions {
  readonly proxies: readonly ProxyName[];
  readonly rounds: number;
  /** Further rounds follow until the clients have sent so many through each proxy. */
  readonly requests: number;
}

const AGENTS = `import { defineAgent } from "troupe";
export const speaker = defineAgent({
  name: "speaker", purpose: "Says twenty numbers in two seconds.",
  async chat(_input, turn) {
    for (let number = 0; number < 20; number += 1) {
      await turn.sleep(100);
      await turn.text(number + "\\n");
    }
  },
});
export const quick = defineAgent({ name: "quick", purpose: "Answers.", chat: () => "done" });
export const asker = defineAgent({
  name: "asker", purpose: "Asks.",
  async chat(_input, turn) {
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return ok;
  },
});
`;

/** The clients of each proxy. */
const CLIENTS = 6;

/** Restarts the nodes under the load of clients behind each proxy. */
export async function roll(
  database: string,
  { proxies, rounds, requests }: RollOptions,
  progress: (line: string) => void = () => {},
): Promise<Readonly<Record<string, LoadReport & { readonly restarts: number }>>> {
  const project = await newProject();
  await writeFile(join(project.folder, "agents/all.ts"), AGENTS);
  const nodes = await Promise.all(
    [1, 2, 3].map(async () => new Node(project.folder, database, await findFreePort(), await findFreePort())),
  );
  await using stack = new AsyncDisposableStack();
  stack.defer(() => project.remove());
  for (const node of nodes) stack.defer(async () => void (await node.stop()));
  await Promise.all(nodes.map((node) => node.start()));
  const loads: { readonly name: ProxyName; readonly load: Load }[] = [];
  for (const name of proxies) {
    const proxy = stack.use(
      await startProxy(
        name,
        nodes.map(({ address }) => address),
      ),
    );
    loads.push({ name, load: new Load(proxy.url) });
  }
  let isOver = false;
  const load = Promise.all(loads.map((one) => one.load.run(CLIENTS, () => isOver)));
  let restarts = 0;
  const goesOn = (): boolean =>
    restarts < rounds * nodes.length || loads.some((one) => one.load.requests < requests);
  try {
    while (goesOn()) {
      const node = nodes[restarts % nodes.length] as Node;
      const code = await node.stop();
      if (code !== 0) throw new Error(`a node ended with ${code}`);
      await node.start();
      restarts += 1;
      const counts = loads.map((one) => `${one.name} ${one.load.requests}`).join(", ");
      progress(`${restarts} restarts; requests: ${counts}`);
    }
  } finally {
    isOver = true;
    await load;
  }
  return Object.fromEntries(loads.map((one) => [one.name, { ...one.load.report, restarts }]));
}

/** A node that always has the same addresses. */
class Node {
  readonly address: string;
  readonly #start: () => ReturnType<typeof spawn>;
  #child: ReturnType<typeof spawn> | undefined;

  constructor(folder: string, database: string, port: number, clusterPort: number) {
    this.address = `127.0.0.1:${port}`;
    const cluster = `http://127.0.0.1:${clusterPort}`;
    this.#start = () =>
      spawn(
        process.execPath,
        [
          PROGRAM,
          "serve",
          "--port",
          String(port),
          "--cluster",
          cluster,
          "--trust-proxy",
          "--log-level",
          "warn",
        ],
        {
          cwd: folder,
          env: {
            ...process.env,
            TROUPE_LOG: database,
            TROUPE_SECRETS_KEY: "a key of thirty-two characters ..",
            TROUPE_CLUSTER_SECRET: "a secret of all nodes",
          },
          stdio: ["ignore", "ignore", "inherit"],
        },
      );
  }

  /** Starts the node; resolves when it is ready. */
  async start(): Promise<void> {
    const child = this.#start();
    this.#child = child;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`a node ended with ${child.exitCode} while it started`);
      const response = await fetch(`http://${this.address}/readyz`).catch(() => undefined);
      await response?.arrayBuffer();
      if (response?.status === 200) return;
      await setTimeout(50);
    }
  }

  /** Ends the node with SIGTERM; resolves with its exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return child?.exitCode ?? 0;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
    return child.exitCode;
  }
}

const PROGRAM = resolve(import.meta.dirname, "../../dist/cli/main.js");

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "20" },
      requests: { type: "string", default: "10000" },
      proxy: { type: "string", multiple: true, default: [...PROXIES] },
    },
  });
  const wanted = PROXIES.filter((name) => values.proxy.includes(name));
  const missing = wanted.filter((name) => findProxy(name) === undefined);
  for (const name of missing) process.stdout.write(`${name} is not on this machine\n`);
  const programs = findPrograms();
  if (programs === undefined) throw new Error("there is no PostgreSQL on this machine");
  const server = new PostgresServer(programs, mkdtempSync(join(tmpdir(), "troupe-pg-")));
  await server.create();
  await server.start();
  try {
    const proxies = wanted.filter((name) => !missing.includes(name));
    const report = await roll(
      server.url,
      {
        proxies,
        rounds: Number(values.rounds),
        requests: Number(values.requests),
      },
      (line) => process.stderr.write(`${line}\n`),
    );
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    if (missing.length > 0 || Object.values(report).some(({ failures }) => failures.length > 0))
      process.exitCode = 1;
  } finally {
    await server.remove();
  }
}
