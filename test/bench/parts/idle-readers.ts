import { setTimeout as pause } from "node:timers/promises";
import { askJson } from "../harness/client.ts";
import { Connection, toRequestText } from "../harness/connection.ts";
import { atMost, kilobytes } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import type { Trial } from "../compare/trial.ts";

/** The maximum number of readers of one request. */
const EACH = 250;

export const READER_TRIAL: Trial = {
  what: "a reader that waits",
  async open(tree, { readers }) {
    return {
      async sample() {
        const { heap, lasting, rss } = await costOf(readers, tree);
        return { "heap bytes": heap, "resident bytes without young": lasting, "resident bytes": rss };
      },
      async [Symbol.asyncDispose]() {},
    };
  },
};

/**
 * The cost of a reader that waits for the next event. The young generation of the heap grows while the readers
 * connect, up to a limit for the process however many there are, so it does not belong to them.
 */
export async function measureIdleReaders({ readers }: Setup): Promise<Result[]> {
  const { heap, lasting, rss } = await costOf(readers);
  const what = `of a reader that waits, of ${readers}`;
  return [
    atMost(`heap ${what}`, heap, 20_000, kilobytes),
    atMost(`resident memory ${what}, without the young generation of the heap`, lasting, 20_000, kilobytes),
    atMost(`resident memory ${what}, with it`, rss, 20_000, kilobytes),
  ];
}

/** The bytes of one of a number of readers. */
interface ReaderCost {
  readonly heap: number;
  /** Resident, without the young generation. */
  readonly lasting: number;
  readonly rss: number;
}

async function costOf(readers: number, tree?: string): Promise<ReaderCost> {
  await using server = await ServerProcess.start("memory", tree === undefined ? {} : { tree });
  const requests: string[] = [];
  for (let count = 0; count <= readers; count += EACH) requests.push(await park(server.port));
  // The first readers pay for shared resources.
  const [first = "", ...others] = requests;
  const held = await open(server.port, first, EACH);
  await pause(SETTLE_MS);
  const before = await server.report();
  for (const [index, request] of others.entries()) {
    held.push(...(await open(server.port, request, Math.min(EACH, readers - index * EACH))));
  }
  await pause(SETTLE_MS);
  const after = await server.report();
  for (const connection of held) connection.close();
  const rss = after.rss - before.rss;
  return {
    heap: (after.heapUsed - before.heapUsed) / readers,
    lasting: (rss - (after.young - before.young)) / readers,
    rss: rss / readers,
  };
}

const SETTLE_MS = 500;

/** Starts a turn that waits for an answer. */
async function park(port: number): Promise<string> {
  const body = { type: "ChatRequest", input: "hello" };
  const path = "/asker/process?wait=completed";
  const wait = await askJson<{ readonly type: string; readonly request_id: string }>(
    port,
    "POST",
    path,
    body,
  );
  if (wait.type === "WaitForInput") return wait.request_id;
  throw new Error(`a turn that was to wait said ${wait.type}`);
}

/** Opens streams of the events after the wait. */
async function open(port: number, request: string, count: number): Promise<Connection[]> {
  const connections = Array.from({ length: count }, () => new Connection(port));
  const text = toRequestText("GET", `/getevents/${request}?stream=true&since=1000`);
  await Promise.all(connections.map((connection) => connection.hold(text)));
  return connections;
}
