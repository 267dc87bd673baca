import { createReadStream } from "node:fs";
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createRuntime } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import type { EventLog } from "../../src/ports/event-log.ts";
import { clerk } from "./agents/clerk.ts";
import { makeMarked, makePlain } from "./fill.ts";
import { Served } from "./served.ts";

/** The start of each canary, and of each text of the owner whose erasure is timed. */
const CANARY = "canary-4b7e";
const TIMED = "canary-9c21";

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
  /** The names of the files or tables that have a text. */
  find(text: string): Promise<readonly string[]>;
}

/** What was found, and how long it took. */
export interface Erasing {
  /** The places of the canaries before, and after the erasures of both owners. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The lines that the servers have logged, and how many of them have a canary. */
  readonly lines: number;
  readonly markedLines: number;
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
  const before = await place.find(CANARY);

  const first = await Served.start(place.args, place.env);
  const started = performance.now();
  const timing = first.erase("dart");
  await first.untilGone(others);
  const goneMs = performance.now() - started;
  if ((await timing) !== 0) throw new Error(`the erasure failed:\n${first.lines.join("\n")}`);
  const erasedMs = performance.now() - started;
  const killed = first.erase("acme");
  await first.untilGone(marked.slice(Math.floor((canaries * 2) / 3)).toReversed());
  await first.kill();
  await killed;

  const second = await Served.start(place.args, place.env);
  const restarted = performance.now();
  const goneAtKill = await second.countGone(marked);
  await second.untilGone(marked);
  // The texts are overwritten when the last run is gone.
  while ((await place.find(CANARY)).length > 0) await setTimeout(50);
  const finishedMs = performance.now() - restarted;
  const lost = await second.countGone(kept.slice(0, 1_000));
  await second.stop();
  const lines = [...first.lines, ...second.lines];
  return {
    before,
    after: [...(await place.find(CANARY)), ...(await place.find(TIMED))],
    lines: lines.length,
    markedLines: lines.filter((line) => line.includes(CANARY) || line.includes(TIMED)).length,
    goneAtKill,
    goneMs,
    erasedMs,
    finishedMs,
    kept: Math.min(kept.length, 1_000) - lost,
  };
}

/** A data directory. */
export function directoryPlace(directory: string): Place {
  return {
    open: () => sqliteLog(directory, { durability: "relaxed" }),
    args: ["--data", directory],
    find: (text) => findIn(directory, text),
  };
}

/** The files of a directory that have a text in their name or their bytes. */
async function findIn(directory: string, text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await entriesIn(directory)) {
    const path = join(entry.parentPath, entry.name);
    if (entry.name.includes(text) || (entry.isFile() && (await hasText(path, text)))) found.push(path);
  }
  return found;
}

/** All that a directory has. The server may remove a folder while it is listed; then all is listed again. */
async function entriesIn(directory: string): Promise<readonly Dirent[]> {
  for (;;) {
    try {
      return await readdir(directory, { recursive: true, withFileTypes: true });
    } catch (thrown) {
      const { code, path } = thrown as NodeJS.ErrnoException;
      if (code !== "ENOENT" || path === directory) throw thrown;
    }
  }
}

async function hasText(path: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  let rest = Buffer.alloc(0);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 4_194_304 })) {
      const bytes = Buffer.concat([rest, chunk as Buffer]);
      if (bytes.includes(wanted)) return true;
      rest = bytes.subarray(-wanted.length);
    }
  } catch (thrown) {
    // It was removed in the meantime.
    if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
  }
  return false;
}
