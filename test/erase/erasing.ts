import { createReadStream } from "node:fs";
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createRuntime } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import type { RunId } from "../../src/protocol/ids.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import { clerk } from "./agents/clerk.ts";
import { fillEverywhere, refuseUser } from "./everywhere.ts";
import { makeMarked, makePlain } from "./fill.ts";
import { Served } from "./served.ts";

/** The start of each canary, and of each text of the owner whose erasure is timed. */
const CANARY = "canary-4b7e";
const TIMED = "canary-9c21";

/** How long an erasure may take after a restart, in milliseconds. */
const FINISHED_MS = Number(process.env["ERASE_MS"] ?? 120_000);

/** How much is erased from how much. */
export interface ErasingOptions {
  readonly place: Place;
  /** The runs of others, which stay. */
  readonly runs: number;
  readonly canaries: number;
  /** The runs of another owner, whose erasure is timed. */
  readonly timed: number;
}

/** Where everything is stored: a data directory or a database. */
export interface Place {
  open(): EventLog | Promise<EventLog>;
  /** The options of `troupe serve` for it. */
  readonly args: readonly string[];
  /** The variables that it needs. */
  readonly env?: Readonly<Record<string, string>>;
  /** The files or tables that have a text which begins with a word, as `PLACE: TEXT`. */
  find(word: string): Promise<readonly string[]>;
  /** Keeps a run from being removed until the returned function is called, so that an erasure has a middle. */
  hold?(run: RunId): Promise<() => Promise<void>>;
}

/** What was found, and how long it took. */
export interface Erasing {
  /** The places of the canaries before, and after the erasures of both owners, as `PLACE: TEXT`. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The canaries that were in no place before: what is hidden there, or not kept. */
  readonly unseen: readonly string[];
  /** How many lines the servers have logged, and the canaries in them. */
  readonly lines: number;
  readonly inLines: readonly string[];
  /** The runs that were gone when the server was killed. */
  readonly goneAtKill: number;
  /** Until the runs of the timed owner were gone, and until its texts were overwritten too, in milliseconds. */
  readonly goneMs: number;
  readonly erasedMs: number;
  /** From the start of the next server to the end of the erasure that was killed. */
  readonly finishedMs: number;
  readonly kept: number;
}

/** Fills a place, erases two owners with `troupe erase`, kills the server in the middle, and looks everywhere. */
export async function erasing({ place, runs, canaries, timed }: ErasingOptions): Promise<Erasing> {
  const half = Math.floor(runs / 2);
  const log = await place.open();
  const runtime = createRuntime({ agents: [clerk], log });
  await runtime.ready();
  await makePlain(runtime, "bolt", half);
  const marked = await makeMarked(runtime, "acme", { word: CANARY, count: canaries });
  const others = await makeMarked(runtime, "dart", { word: TIMED, count: timed });
  const kept = await makePlain(runtime, "bolt", runs - half);
  await runtime.close();
  await log.close();

  const first = await Served.start(place.args, place.env);
  const made = await fillEverywhere(first.place, { owner: "acme", word: CANARY });
  const before = await place.find(CANARY);
  const seen = new Set(before.map((found) => found.replace(/.*: /, "")));
  await refuseUser(first.place, { owner: "dart", word: TIMED });
  const started = performance.now();
  const timing = first.erase("dart");
  await first.untilGone(others);
  const goneMs = performance.now() - started;
  if ((await timing) !== 0) throw new Error(`the erasure failed:\n${first.lines.join("\n")}`);
  const erasedMs = performance.now() - started;
  await refuseUser(first.place, { owner: "acme", word: CANARY });
  // The newest runs are erased first.
  const release = marked[0] === undefined ? undefined : await place.hold?.(marked[0]);
  const killed = first.erase("acme");
  await first.untilGone(marked.slice(Math.floor((canaries * 2) / 3)).toReversed());
  await first.kill();
  await killed;

  const second = await Served.start(place.args, place.env);
  const restarted = performance.now();
  const goneAtKill = await second.countGone(marked);
  await release?.();
  await second.untilGone(marked);
  // The texts are overwritten when the last run is gone.
  const until = restarted + FINISHED_MS;
  while (!(await place.find(CANARY)).every(isChosen) && performance.now() < until) await setTimeout(50);
  const finishedMs = performance.now() - restarted;
  const lost = await second.countGone(kept.slice(0, 1_000));
  await second.stop();
  const lines = [...first.lines, ...second.lines];
  return {
    before,
    after: [...(await place.find(CANARY)), ...(await place.find(TIMED))],
    lines: lines.length,
    unseen: made.filter((text) => !seen.has(text)),
    inLines: [...new Set(lines.flatMap((line) => [...textsIn(line, CANARY), ...textsIn(line, TIMED)]))],
    goneAtKill,
    goneMs,
    erasedMs,
    finishedMs,
    kept: Math.min(kept.length, 1_000) - lost,
  };
}

/** Whether a text is an id that a client has chosen for a request: these stay. */
export function isChosen(text: string): boolean {
  return text.includes(`${CANARY}-as-`);
}

/** A data directory. */
export function directoryPlace(directory: string): Place {
  return {
    open: () => sqliteLog(directory, { durability: "relaxed" }),
    args: ["--data", directory],
    find: (text) => findIn(directory, text),
  };
}

/** What the files of a directory have in their names or their bytes. */
async function findIn(directory: string, word: string): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const entry of await entriesIn(directory)) {
    const path = join(entry.parentPath, entry.name);
    const texts = [...textsIn(entry.name, word), ...(entry.isFile() ? await textsOf(path, word) : [])];
    for (const text of texts) found.add(`${path.slice(directory.length + 1)}: ${text}`);
  }
  return [...found];
}

/** The texts that begin with a word. */
export function textsIn(text: string, word: string): readonly string[] {
  return text.match(new RegExp(`${word}[a-z0-9-]*`, "g")) ?? [];
}

/** All that a directory has. The server may remove a folder while it is listed; then all is listed again. */
async function entriesIn(directory: string): Promise<readonly Dirent[]> {
  for (let left = 1_000; ; left -= 1) {
    try {
      return await readdir(directory, { recursive: true, withFileTypes: true });
    } catch (thrown) {
      const { code, path } = thrown as NodeJS.ErrnoException;
      if (code !== "ENOENT" || path === directory || left === 0) throw thrown;
    }
  }
}

async function textsOf(path: string, word: string): Promise<readonly string[]> {
  const found = new Set<string>();
  let rest = "";
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 4_194_304, encoding: "latin1" })) {
      const text = rest + String(chunk);
      for (const each of text.includes(word) ? textsIn(text, word) : []) found.add(each);
      rest = text.slice(-TEXT_LENGTH);
    }
  } catch (thrown) {
    // It was removed in the meantime.
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
  }
  return [...found];
}

/** The most letters of a text that is looked for. */
const TEXT_LENGTH = 64;
