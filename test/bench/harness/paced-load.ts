import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Connection, toRequestText } from "./connection.ts";
import type { ServerProcess } from "./server-process.ts";
import { sinceStamp } from "./stamp.ts";
import { median, percentile } from "./statistics.ts";

/** The results and cost of turns at a pace. All costs are those of a turn. */
export interface PacedSample {
  readonly cpuMs: number;
  readonly writes: number;
  readonly diskBytes: number;
  readonly firstP50Ms: number;
  /** From the time when a text was said to its arrival. */
  readonly textP50Ms: number;
  readonly textP99Ms: number;
  /** What the counters of the log say. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The clients, the time that a turn takes, and the time of the measurement. */
export interface PacedLoad {
  readonly clients: number;
  readonly turnMs: number;
  readonly ms: number;
  /** Where and how a turn is asked for. Default: the native protocol. */
  readonly path?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Reads counters beside those of the process. */
  readonly count?: PacedCounter;
}

/** What was measured, and when the turns that were still running have ended. */
export interface PacedMeasurement {
  readonly sample: PacedSample;
  /** Another server can already be measured meanwhile: its clients begin as slowly as these end. */
  readonly drained: Promise<unknown>;
}

/** Reads what a log has written so far, by name. */
export type PacedCounter = () => Promise<Readonly<Record<string, number>>>;

/**
 * Keeps clients busy with turns whose texts come at a pace. They begin one after the other, so that their texts are spread
 * over time like those of strangers; the measurement begins when all have begun.
 */
export async function measurePacedTurns(
  server: ServerProcess,
  { clients, turnMs, ms, path = "/stream_request", body, count = async () => ({}) }: PacedLoad,
): Promise<PacedMeasurement> {
  const first: number[] = [];
  const delays: number[] = [];
  let isOver = false;
  let isMeasured = false;
  const hear = (part: Buffer): void => {
    if (!isMeasured) return;
    for (const [, stamp = ""] of part.toString("latin1").matchAll(STAMPED)) delays.push(sinceStamp(stamp));
  };
  const run = async (client: number): Promise<void> => {
    await setTimeout((client / clients) * turnMs);
    const connection = new Connection(server.port);
    while (!isOver) {
      const request = body ?? { type: "ChatRequest", input: "", request_id: randomUUID() };
      const { status, firstMs } = await connection.request(toRequestText("POST", path, request), {
        hear,
      });
      if (status !== 200) throw new Error(`a turn of ${server.name} was answered ${status}`);
      first.push(firstMs);
    }
    connection.close();
  };
  const running = Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  running.catch(() => {});
  await setTimeout(turnMs);
  const countsBefore = await count();
  const before = server.usage();
  isMeasured = true;
  await Promise.race([setTimeout(ms), running]);
  const after = server.usage();
  isMeasured = false;
  const countsAfter = await count();
  isOver = true;
  const turns = delays.length / server.deltas;
  const sample: PacedSample = {
    cpuMs: (after.cpuMs - before.cpuMs) / turns,
    writes: (after.writes - before.writes) / turns,
    diskBytes: (after.diskBytes - before.diskBytes) / turns,
    firstP50Ms: median(first),
    textP50Ms: median(delays),
    textP99Ms: percentile(delays, 0.99),
    counts: Object.fromEntries(
      Object.entries(countsAfter).map(([name, value]) => [name, (value - (countsBefore[name] ?? 0)) / turns]),
    ),
  };
  return { sample, drained: running };
}

const STAMPED = /"at \d+ ([\d.]+)"/gu;
