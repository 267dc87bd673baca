import { randomUUID } from "node:crypto";
import { Connection, toRequestText } from "./connection.ts";
import type { Answer } from "./connection.ts";
import { EditorConnection } from "./editor-connection.ts";
import type { ServerProcess } from "./server-process.ts";
import { median, percentile } from "./statistics.ts";

/** The results and cost of a load on a server. */
export interface Sample {
  readonly turnsPerS: number;
  readonly cpuMs: number;
  readonly writes: number;
  readonly firstP50Ms: number;
  readonly firstP99Ms: number;
  /** From the chunk with the last event to the end of the answer. */
  readonly endP50Ms: number;
  readonly endP99Ms: number;
}

/** The number of clients, each with one turn after the other, and the duration. */
export interface Load {
  readonly concurrency: number;
  readonly ms: number;
  /** How the clients ask. Default: the native protocol. */
  readonly wire?: Wire;
}

/** How a protocol asks for a turn, and how its answer is recognized. */
export interface Wire {
  /** The port where a program speaks the protocol of editors; without it the protocol is one over HTTP. */
  readonly editorPort?: number;
  request(): string;
  /** A text of its last frame. */
  readonly end: string;
  /** Finds the number of each text. */
  readonly texts: RegExp;
  /** An answer of fewer bytes lacks texts. Default: of a frame for each text. */
  readonly leastBytes?: number;
}

/** A server and the load it gets. */
export interface Loaded {
  readonly server: ServerProcess;
  readonly load: Load;
}

/** Runs a load on a server and measures it. */
export async function measure({ server, load: { concurrency, ms, wire } }: Loaded): Promise<Sample> {
  const before = server.usage();
  const startedAt = performance.now();
  const answers = await repeatTurns(server, { concurrency, wire }, () => performance.now() - startedAt < ms);
  const seconds = (performance.now() - startedAt) / 1000;
  const after = server.usage();
  const first = answers.map(({ firstMs }) => firstMs);
  const end = answers.map(({ endMs, markedMs }) => endMs - markedMs);
  return {
    turnsPerS: answers.length / seconds,
    cpuMs: (after.cpuMs - before.cpuMs) / answers.length,
    writes: (after.writes - before.writes) / answers.length,
    firstP50Ms: median(first),
    firstP99Ms: percentile(first, 0.99),
    endP50Ms: median(end),
    endP99Ms: percentile(end, 0.99),
  };
}

/**
 * Checks a turn of a server, and runs turns until the compiler has little left to do. A turn of one text runs each
 * path only once or twice, so it takes three times as many.
 */
export async function warmUp({ server, load }: Loaded, turns: number): Promise<void> {
  await checkTurn(server, load.wire);
  let left = server.deltas === 1 ? 3 * turns : turns;
  await repeatTurns(server, load, () => (left -= 1) >= 0);
}

/**
 * Runs the loads in alternating rounds, so that other work of the machine affects all of them. Returns the
 * samples of each load per round.
 */
export async function compare(
  loads: readonly Loaded[],
  rounds: number,
): Promise<readonly (readonly Sample[])[]> {
  const samples: Sample[][] = loads.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, loaded] of loads.entries()) samples[index]?.push(await measure(loaded));
  }
  return samples;
}

/** The median of each value. */
export function middle(samples: readonly Sample[]): Sample {
  const of = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
  return {
    turnsPerS: of("turnsPerS"),
    cpuMs: of("cpuMs"),
    writes: of("writes"),
    firstP50Ms: of("firstP50Ms"),
    firstP99Ms: of("firstP99Ms"),
    endP50Ms: of("endP50Ms"),
    endP99Ms: of("endP99Ms"),
  };
}

/** The ratio of two servers for one value: the median of the ratios of all rounds. */
export function ratio(ours: readonly Sample[], theirs: readonly Sample[], key: keyof Sample): number {
  return median(ours.map((sample, round) => sample[key] / (theirs[round]?.[key] ?? Number.NaN)));
}

/** The request for one turn. */
export function toTurnRequest(): string {
  return toRequestText("POST", "/stream_request", {
    type: "ChatRequest",
    input: "hello world",
    request_id: randomUUID(),
  });
}

const NATIVE: Wire = {
  request: toTurnRequest,
  end: "RequestCompleted",
  texts: /"content":"hello world (\d+)"/g,
};

/** Keeps a number of clients busy with turns as long as `wanted` says. Returns all answers. */
async function repeatTurns(
  server: ServerProcess,
  { concurrency, wire = NATIVE }: Pick<Load, "concurrency"> & { readonly wire?: Wire | undefined },
  wanted: () => boolean,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const run = async (): Promise<void> => {
    const connection = connectionOf(server, wire);
    while (wanted()) {
      const answer = await connection.request(wire.request(), { marker: wire.end });
      if (answer.status !== 200 || answer.bytes < (wire.leastBytes ?? server.deltas * LEAST_BYTES))
        throw new Error(`a turn of ${server.name} failed`);
      answers.push(answer);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: concurrency }, run));
  return answers;
}

function connectionOf({ port }: ServerProcess, { editorPort }: Wire): Connection | EditorConnection {
  return editorPort === undefined ? new Connection(port) : new EditorConnection(editorPort);
}

/** Runs one turn and reads all of it. */
async function checkTurn(server: ServerProcess, wire: Wire = NATIVE): Promise<void> {
  const { deltas } = server;
  const { request, end, texts } = wire;
  const connection = connectionOf(server, wire);
  const { status, text } = await connection.request(request(), { keep: true });
  connection.close();
  const found = [...text.matchAll(texts)].map(([, number]) => Number(number));
  const inOrder = found.every((number, index) => number === index);
  if (status === 200 && found.length === deltas && inOrder && text.includes(end)) return;
  throw new Error(`a sample turn is not what it should be: ${status} ${text.slice(0, 500)}`);
}

/** The least bytes of the frame of a text, over any protocol. */
const LEAST_BYTES = 60;
