import { setTimeout } from "node:timers/promises";
import type { Random } from "../../src/testing/event-log/random.ts";
import type { FailingFsync } from "./failing-fsync.ts";
import { points } from "./points.ts";
import type { Session } from "./session.ts";
import type { ServerProcess } from "./server-process.ts";

/** Something bad that happens to a server; the server has ended when it is over. */
export interface Fault {
  readonly name: string;
  /** Whether it takes the process away without warning. */
  readonly kill: boolean;
  /** How many of a hundred kills should be of this kind; of what is no kill, how many there are to a hundred kills. */
  readonly share: number;
  /** Lets it happen; resolves with what else was wrong, or `undefined` when it did not come to it. */
  happen(session: Session, random: Random): Promise<readonly string[] | undefined>;
}

/** How long a server may take to come to the point where it is to die, in milliseconds. */
const POINT_MS = 4_000;

/** How long is waited for a change that has to come, in milliseconds. */
const CHANGE_MS = 10_000;

/** The faults that need nothing but a server. */
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

/** fsync fails, at some time and from then on. */
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

/** Waits until a server takes nothing any more, and then expects it to go on reading and to take nothing. */
async function checkReadOnly(server: ServerProcess): Promise<readonly string[] | undefined> {
  const address = await server.address;
  // When the very first sync fails there is no log to serve.
  if (address === undefined) return (await server.exited) === 70 ? [] : [`it said ${server.said.join(" ")}`];
  if (!(await becomes(address, 503))) return undefined;
  const reads = await fetch(`${address}/runs`);
  const again = await post(address);
  return [
    ...(reads.status === 200 ? [] : [`after a failed commit reads are answered by ${reads.status}`]),
    ...(again === 503 ? [] : [`after a failed commit a request is answered by ${again}`]),
  ];
}

/** Asks a server until it answers with a status; false when it does not in time. */
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
