import { commitMs } from "../harness/disk.ts";
import { compare, middle, ratio } from "../harness/load.ts";
import type { Sample } from "../harness/load.ts";
import { atMost, ms, times, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { ServerName, ServerOptions } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";

/** The compared servers; the ratios are relative to the last but one. */
const SERVERS: readonly (readonly [label: string, name: ServerName, options: ServerOptions])[] = [
  ["memory log", "memory", {}],
  ["memory log, texts gather 1 ms", "memory", { coalesce: 1 }],
  ["durable log", "durable", {}],
  ["bare Hono, nothing kept", "bare-hono", {}],
  ["bare node:http, nothing kept", "bare-node", {}],
];

/** The cost of a turn of a hundred texts, compared with servers that only stream (G1, G2, G3, G6). */
export async function measureTurns(setup: Setup): Promise<Result[]> {
  const results: Result[] = [];
  for (const concurrency of setup.concurrencies) {
    await using stack = new AsyncDisposableStack();
    const servers: ServerProcess[] = [];
    for (const [, name, options] of SERVERS)
      servers.push(stack.use(await ServerProcess.start(name, options)));
    const samples = await compare(servers, { concurrency, ms: setup.roundMs }, setup);
    console.log(`\nA turn of 100 texts, ${concurrency} at a time\n\n${toTurnTable(samples)}`);
    if (concurrency === 32) results.push(...judge(samples));
  }
  return results;
}

function toTurnTable(samples: readonly (readonly Sample[])[]): string {
  const hono = samples.at(-2) ?? [];
  const head = [
    "server",
    "CPU a turn",
    "× bare Hono",
    "turns/s",
    "first event p50, p99",
    "end p50, p99",
    "writes",
  ];
  const rows = SERVERS.map(([label], index) => {
    const own = samples[index] ?? [];
    const { cpuMs, turnsPerS, firstP50Ms, firstP99Ms, endP50Ms, endP99Ms, writes } = middle(own);
    return [
      label,
      `${cpuMs.toFixed(3)} ms`,
      ratio(own, hono, "cpuMs").toFixed(2),
      turnsPerS.toFixed(0),
      `${ms(firstP50Ms)}, ${ms(firstP99Ms)}`,
      `${ms(endP50Ms)}, ${ms(endP99Ms)}`,
      writes.toFixed(1),
    ];
  });
  return toTable([head, ...rows]);
}

function judge(samples: readonly (readonly Sample[])[]): Result[] {
  const [memory = [], coalesced = [], durable = [], hono = []] = samples;
  const cpu = (own: readonly Sample[]): number => ratio(own, hono, "cpuMs");
  const first = middle(hono).firstP50Ms;
  return [
    atMost(
      "G1",
      "CPU of a turn, memory log, a write for each event, relative to bare Hono",
      cpu(memory),
      0.65,
    ),
    atMost("G2", "CPU of a turn, memory log, texts gather 1 ms, relative to bare Hono", cpu(coalesced), 0.15),
    atMost("G3", "CPU of a turn, durable log, relative to bare Hono", cpu(durable), 0.25),
    atMost(
      "G3",
      "first event p50, durable log; goal = bare Hono + two commits",
      middle(durable).firstP50Ms,
      first + 2 * commitMs(),
      ms,
    ),
    atMost(
      "G6",
      "first event p50, memory log, relative to bare Hono",
      ratio(memory, hono, "firstP50Ms"),
      1.5,
      times,
    ),
    atMost("G6", "end of the stream after its last event, p50, memory log", middle(memory).endP50Ms, 1, ms),
    atMost("G6", "end of the stream after its last event, p50, durable log", middle(durable).endP50Ms, 1, ms),
  ];
}
