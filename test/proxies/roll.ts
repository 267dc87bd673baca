// Restarts three nodes one after the other, again and again, behind each proxy with the file of the package and under load, and
// prints what clients saw: npm run test:proxies [-- --rounds 20] [--requests 10000] [--proxy nginx]
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { writeFile } from "node:fs/promises";
import { newProject } from "../deploys/server.ts";
import { findFreePort } from "../machine/free-port.ts";
import { findPrograms, PostgresServer } from "../machine/postgres-server.ts";
import { Load } from "./load.ts";
import type { LoadReport } from "./load.ts";
import { clusterNode } from "./node.ts";
import type { Node } from "./node.ts";
import { PROXIES, findProxy, startProxy } from "./proxy.ts";
import type { ProxyName } from "./proxy.ts";

export interface RollOptions {
  readonly proxies: readonly ProxyName[];
  readonly rounds: number;
  /** Further rounds follow until the clients have sent so many through each proxy. */
  readonly requests: number;
}

/** The agents that the load needs. */
export const AGENTS = `import { defineAgent } from "troupe";
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
    [1, 2, 3].map(async () =>
      clusterNode(project.folder, database, await findFreePort(), await findFreePort()),
    ),
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
