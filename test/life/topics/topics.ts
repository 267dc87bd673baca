import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ServerProcess } from "../../flows/server.ts";

/** What the subscribers of a topic have got while its server was killed twice. */
export interface ToldSubscribers {
  readonly subscribers: number;
  /** Those that have got each publication once, and in order. */
  readonly right: number;
  readonly kills: number;
  /** From the first publication until the last subscriber had the last one, in milliseconds. */
  readonly ms: number;
}

/** A server of a program of this folder. */
function createServer(): Promise<ServerProcess> {
  return ServerProcess.create(fileURLToPath(new URL("topics-server.ts", import.meta.url)));
}

/**
 * Publishes to a topic, and kills a server after a third and two thirds of the publications: the only one, or with `nodes: 2` first
 * one and then the other of two that share the database of `TROUPE_TOPICS_POSTGRES`.
 */
export async function publishUnderKills(
  subscribers: number,
  publications: number,
  nodes: 1 | 2 = 1,
): Promise<ToldSubscribers> {
  await using first = await createServer();
  await using second = await createServer();
  const servers = [first, second].slice(0, nodes);
  const urls: string[] = [];
  for (const server of servers) urls.push(await server.start());
  let requests = 0;
  const post = async (path: string, request: object): Promise<Record<string, unknown>> => {
    for (;;) {
      try {
        requests += 1;
        const response = await fetch(new URL(path, urls[requests % nodes]), {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(request),
        });
        const answer = (await response.json()) as Record<string, unknown>;
        if (response.ok) return answer;
        if (response.status !== 503 && response.status !== 429) throw new Error(JSON.stringify(answer));
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
      await pause(50);
    }
  };
  const ask = (
    agent: string,
    operation: string,
    input: object,
    more: object = {},
  ): Promise<Record<string, unknown>> =>
    post(`/${agent}/process`, { type: "OperationRequest", operation, input, wait: "completed", ...more });
  for (let from = 0; from < subscribers; from += 500)
    await ask("crowd", "gather", { from, to: Math.min(from + 500, subscribers) });
  const begun = Date.now();
  let kills = 0;
  for (let n = 1; n <= publications; n += 1) {
    await post("/topics/ticks/publications", { name: "tick", body: { n }, request_id: `tick-${n}` });
    if (n !== Math.round(publications / 3) && n !== Math.round((publications * 2) / 3)) continue;
    urls[kills % nodes] = (await servers[kills % nodes]?.restart()) ?? "";
    kills += 1;
  }
  const isRight = async (at: number): Promise<boolean> => {
    const { output } = await ask("listener", "seen", {}, { key: `l-${at}` });
    const { last, wrong } = output as { readonly last: number; readonly wrong: number };
    if (wrong > 0 || last > publications) throw new Error(`listener ${at} has got ${JSON.stringify(output)}`);
    return last === publications;
  };
  let waiting = Array.from({ length: subscribers }, (_, at) => at);
  const until = Date.now() + 60 * 60_000;
  while (waiting.length > 0 && Date.now() < until) {
    const left: number[] = [];
    for (const [at, listener] of waiting.entries()) {
      if (await isRight(listener)) continue;
      left.push(listener);
      // The others have surely not got everything yet.
      if (left.length >= 20) {
        left.push(...waiting.slice(at + 1));
        break;
      }
    }
    waiting = left;
    if (waiting.length > 0) await pause(200);
  }
  return { subscribers, right: subscribers - waiting.length, kills, ms: Date.now() - begun };
}
