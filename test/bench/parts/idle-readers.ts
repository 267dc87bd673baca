import { setTimeout as pause } from "node:timers/promises";
import { askJson } from "../harness/client.ts";
import { Connection, toRequestText } from "../harness/connection.ts";
import { atMost } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";

/** The maximum number of readers of one request. */
const EACH = 250;

/** The cost of a reader that waits for the next event. */
export async function measureIdleReaders({ readers }: Setup): Promise<Result[]> {
  await using server = await ServerProcess.start("memory");
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
  const heap = (after.heapUsed - before.heapUsed) / readers;
  const rss = (after.rss - before.rss) / readers;
  return [
    atMost("size", `heap of a reader that waits, of ${readers}`, heap, 20_000, bytes),
    atMost("size", `resident memory of a reader that waits, of ${readers}`, rss, 20_000, bytes),
  ];
}

const SETTLE_MS = 500;

const bytes = (value: number): string => `${(value / 1_000).toFixed(1)} kB`;

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
