import { setTimeout } from "node:timers/promises";
import type { Event } from "../../../../src/protocol/events/events.ts";
import type { NodeProcess } from "./node-process.ts";

/** Sends a request to nodes in turn until one of them has an answer other than 503; without a body it is a GET. */
export async function send(
  nodes: readonly NodeProcess[],
  path: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly text: string }> {
  for (let attempt = 0; ; attempt += 1) {
    const { url } = nodes[attempt % nodes.length] as NodeProcess;
    // Twice as long each time: on a loaded machine each answer may take long.
    const signal = AbortSignal.timeout(Math.min(5_000 * 2 ** attempt, 60_000));
    const response = await fetch(url + path, { ...init, signal }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response !== undefined && text !== undefined && response.status !== 503)
      return { status: response.status, text };
    await setTimeout(20);
  }
}

/** Sends a request of the protocol to an agent; returns the receipt as it came. */
export async function post(nodes: readonly NodeProcess[], agent: string, body: object): Promise<string> {
  const { status, text } = await send(nodes, `/${agent}/process`, toPost(body));
  if (status >= 300) throw new Error(`${JSON.stringify(body)} was answered by ${status} ${text}`);
  return text;
}

export function toPost(body: object): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** Reads something from nodes, which must have it. */
export async function read(nodes: readonly NodeProcess[], path: string): Promise<string> {
  const { status, text } = await send(nodes, path);
  if (status !== 200) throw new Error(`${path} was answered by ${status} ${text}`);
  return text;
}

/** Reads the events of a request or a run from nodes in turn, each time after the newest one, until one that is wanted. */
export async function follow(
  nodes: readonly NodeProcess[],
  id: string,
  wanted: (event: Event) => boolean,
  after = 0,
): Promise<readonly Event[]> {
  const events: Event[] = [];
  for (let turn = 0; !events.some(wanted); turn += 1) {
    const since = events.at(-1)?.id ?? after;
    const node = nodes[turn % nodes.length] as NodeProcess;
    const text = await read([node, ...nodes], `/getevents/${id}?since=${since}&timeout=1`);
    events.push(...(JSON.parse(text) as Event[]));
  }
  return events;
}

export function isEnd(event: Event): boolean {
  return event.type === "RequestCompleted" && event.depth === 0;
}
