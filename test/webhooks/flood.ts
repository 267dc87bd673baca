import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { forEachConcurrent } from "../../src/shared/map-concurrent.ts";
import { ServerProcess } from "../flows/server.ts";
import { startReceiver } from "./receiver.ts";

/** How many messages are sent, and what happens in the meantime. */
export interface FloodOptions {
  readonly runs: number;
  /** The messages of each run. */
  readonly turns: number;
  /** How often the server is killed. */
  readonly kills: number;
  /** How often one message may fail. */
  readonly failures: number;
  /** How long the receiver is away, in milliseconds. */
  readonly awayMs: number;
}

/** What has arrived. */
export interface Flood {
  /** The messages that have arrived, how often one has, and how often one was sent. */
  readonly messages: number;
  readonly taken: number;
  readonly attempts: number;
  /** The runs some of whose messages came before an earlier one. */
  readonly disordered: readonly string[];
  /** Visits of the address to which the receiver has led some attempts. */
  readonly ledAway: number;
  readonly ms: number;
}

/**
 * Sends messages to a receiver that takes half of the attempts and refuses, cuts or leads elsewhere the others, that is killed and started
 * again, while the server is killed too.
 */
export async function flood({ runs, turns, kills, failures, awayMs }: FloodOptions): Promise<Flood> {
  const all = runs * turns;
  let ledAway = 0;
  const trap = createServer((_request, response) => {
    ledAway += 1;
    response.end();
  }).listen(0, "127.0.0.1");
  await once(trap, "listening");
  const tried = new Map<string, number>();
  await using receiver = await startReceiver(
    (_attempt, id) => {
      const count = (tried.get(id) ?? 0) + 1;
      tried.set(id, count);
      if (count > failures) return 204;
      return [500, 204, 0, 204, 302, 204][Math.floor(Math.random() * 6)] ?? 204;
    },
    `http://127.0.0.1:${(trap.address() as AddressInfo).port}/`,
  );
  await using server = await ServerProcess.create(PROGRAM, receiver.url, String(SPEED));
  const started = performance.now();
  // A client of a server that had this port before.
  await fetch(new URL("/readyz", receiver.url));
  let url = server.start();
  const arrived = (): number => new Set(receiver.taken.map(({ id }) => id)).size;
  const until = async (share: number): Promise<void> => {
    let [attempts, since] = [0, performance.now()];
    while (arrived() < share * all && performance.now() - since < STALLED_MS) {
      if (receiver.attempts > attempts) [attempts, since] = [receiver.attempts, performance.now()];
      await setTimeout(20);
    }
  };
  const disturbing = (async () => {
    for (let kill = 1; kill <= kills; kill += 1) {
      await until(kill / (kills + 2));
      url = server.restart();
      await url;
    }
    await until((kills + 1) / (kills + 2));
    await receiver.kill();
    await setTimeout(awayMs);
    await receiver.revive();
  })();
  await forEachConcurrent([...Array(runs).keys()], 32, async (run) => {
    for (let turn = 0; turn < turns; turn += 1) await chat(() => url, `run-${run}`, `turn-${run}-${turn}`);
  });
  await disturbing;
  await until(1);
  trap.close();
  const ofRuns = Map.groupBy(receiver.taken, ({ runId }) => runId);
  const isDisordered = (run: string): boolean =>
    (ofRuns.get(run) ?? []).some(({ event }, at, list) => event < (list[at - 1]?.event ?? 0));
  return {
    messages: arrived(),
    taken: receiver.taken.length,
    attempts: receiver.attempts,
    disordered: [...ofRuns.keys()].filter(isDisordered),
    ledAway,
    ms: performance.now() - started,
  };
}

/** How much faster the time of the server goes: the day in which it tries is 24 minutes, and the pause after eight failures 11 seconds. */
const SPEED = 60;
/** When nothing is attempted for longer than the longest pause, which is 144 seconds, something is lost. */
const STALLED_MS = 180_000;
const PROGRAM = fileURLToPath(new URL("hooked-server.ts", import.meta.url));

/** What a server answers that is about to be killed, or is busy. */
const AGAIN = new Set([408, 429, 503]);

/** Has a turn run to its end, over the deaths of the server. */
async function chat(url: () => Promise<string>, key: string, id: string): Promise<void> {
  const request = { type: "ChatRequest", input: "x", key, request_id: id, wait: "completed" };
  for (;;) {
    try {
      const answer = await fetch(`${await url()}/speaker/process`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      const event = (await answer.json()) as { readonly type?: string };
      if (event.type === "RequestCompleted") return;
      if (answer.status >= 400 && !AGAIN.has(answer.status)) throw new Error(JSON.stringify(event));
    } catch (thrown) {
      // The process has died, and the next one has another address.
      if (!(thrown instanceof TypeError) && !(thrown instanceof SyntaxError)) throw thrown;
      await setTimeout(10);
    }
  }
}
