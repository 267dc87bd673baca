import { setTimeout } from "node:timers/promises";
import type { Random } from "../../src/testing/event-log/random.ts";
import type { FailingFsync } from "./disk/failing-fsync.ts";
import { points } from "./server/points.ts";
import type { Session } from "./session.ts";
import type { ServerProcess } from "./server/server-process.ts";

/** A fault of a server; the server has ended after it. */
export interface Fault {
  readonly name: string;
  /** Whether it kills the process. */
  readonly kill: boolean;
  /** Its share of a hundred kills; for other faults, their number per hundred kills. */
  readonly share: number;
  /** Applies the fault. Resolves with any violation, or `undefined` if the fault did not occur. */
  happen(session: Session, random: Random): Promise<readonly string[] | undefined>;
}

/** Maximum time for a server to reach its kill point, in milliseconds. */
const POINT_MS = 4_000;

/** Maximum time for an expected change, in milliseconds. */
const CHANGE_MS = 10_000;

/** The faults that need only a server. */
export const faults: readonly Fault[] = [
  {
    name: "kill -9 at a random moment",
    kill: true,
    share: 40,
    async happen(session, random) {
      const server = session.start();
      await server.address;
      await setTimeout(random.below(120));
      await server.kill();
      return [];
    },
  },
  {
    name: "kill -9 while it starts",
    kill: true,
    share: 10,
    async happen(session, random) {
      const server = session.start();
      await server.opening;
      await setTimeout(random.below(100));
      await server.kill();
      return [];
    },
  },
  ...points.map((point): Fault => ({
    name: `kill -9 ${point}`,
    kill: true,
    share: 50 / points.length,
    async happen(session, random) {
      const server = session.start({ point, times: 1 + random.below(point.startsWith("during r") ? 4 : 12) });
      const late = Symbol("late");
      const end = await Promise.race([server.exited, setTimeout(POINT_MS, late, { ref: false })]);
      if (end !== late)
        return end === "SIGKILL" ? [] : [`it ended with ${String(end)}: ${server.said.join(" ")}`];
      await server.kill();
      return undefined;
    },
  })),
  {
    name: "SIGTERM under load",
    kill: false,
    share: 4,
    async happen(session, random) {
      const server = session.start();
      await server.address;
      await setTimeout(random.below(200));
      const exit = await server.terminate();
      return exit === 0 ? [] : [`it ended with ${exit}`];
    },
  },
  {
    name: "a second process on the same directory",
    kill: false,
    share: 2,
    async happen(session) {
      const server = session.start();
      await server.address;
      const rival = session.rival();
      const exit = await rival.exited;
      await server.kill();
      const next = session.rival();
      const isFree = (await next.address) !== undefined;
      await next.kill();
      return [
        ...(exit === 75 ? [] : [`the second process ended with ${exit}`]),
        ...(isFree ? [] : ["the directory is not free after its holder was killed"]),
      ];
    },
  },
];

/** fsync fails from some call on. */
export function fsyncFault(fsync: FailingFsync): Fault {
  return {
    name: "fsync fails from some call on",
    kill: false,
    share: 5,
    async happen(session, random) {
      const from = 1 + random.below(200);
      const server = session.start({ env: fsync.environment({ below: session.log, from }) });
      const wrong = await checkReadOnly(server);
      await server.kill();
      return wrong;
    },
  };
}

/** Waits until a server accepts nothing more, then checks that it serves reads and refuses requests. */
async function checkReadOnly(server: ServerProcess): Promise<readonly string[] | undefined> {
  const address = await server.address;
  // If the first sync fails, there is no log to serve.
  if (address === undefined) return (await server.exited) === 70 ? [] : [`it said ${server.said.join(" ")}`];
  if (!(await becomes(address, 503))) return undefined;
  const reads = await fetch(`${address}/runs`);
  const again = await post(address);
  return [
    ...(reads.status === 200 ? [] : [`after a failed commit reads are answered by ${reads.status}`]),
    ...(again === 503 ? [] : [`after a failed commit a request is answered by ${again}`]),
  ];
}

/** Polls a server until it answers with a status; false if it does not in time. */
export async function becomes(address: string, status: number): Promise<boolean> {
  for (const end = performance.now() + CHANGE_MS; performance.now() < end; await setTimeout(20)) {
    if ((await post(address)) === status) return true;
  }
  return false;
}

async function post(address: string): Promise<number> {
  const response = await fetch(`${address}/speaker/process`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input: "?" }),
  });
  await response.arrayBuffer();
  return response.status;
}
