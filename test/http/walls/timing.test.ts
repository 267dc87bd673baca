/** @module-tag long */
import { memoryLog } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { newSchema, openSchema } from "../../storage/postgres/logs.ts";
import { bodyOf } from "../server.ts";
import type { App } from "../server.ts";
import { call, openScene } from "./scene.ts";

/** 5,000 in `npm run test:walls`. */
const PAIRS = Number(process.env["WALLS_PAIRS"] ?? 500);
/** Refusals of files take at least 25 ms each. */
const FILE_PAIRS = PAIRS / 5;

/** How many things of Ann are asked for in turn, and as many ids of nothing. */
const THINGS = 50;

/** The z of a chance of one in 10,000 on either side. */
const SURE = 3.9;

const ENGINES = {
  memory: memoryLog,
  SQLite() {
    const log = sqliteLog(temporaryDirectory(), { durability: "relaxed" });
    onTestFinished(() => log.close());
    return log;
  },
};

const title = `the time of ${PAIRS} pairs of requests does not tell what is another owner's from what does not exist`;

test.each(Object.entries(ENGINES))(
  `${title}, with %s`,
  async (_, openLog) => {
    expect(await toldBy(openLog())).toEqual([]);
  },
  1_800_000,
);

needsPostgres();

test(`${title}, with PostgreSQL`, async () => {
  const log = await openSchema(newSchema(), { secretsKey: "a key of thirty-two characters .." });
  onTestFinished(() => log.close());
  expect(await toldBy(log)).toEqual([]);
}, 3_600_000);

/** The kinds of requests whose time tells something, of all pairs on a log. */
async function toldBy(log: EventLog): Promise<readonly string[]> {
  const { apps } = await openScene([{ log }]);
  const app = apps[0] as App;
  const made: { run: string; request: string; key: string; file: string }[] = [];
  for (let count = 0; count < THINGS; count += 1) {
    const key = `key-of-ann-${count}`;
    const body = { type: "ChatRequest", input: "hi", key };
    const turn = await bodyOf(await call(app, "POST", "/board/process?wait=completed", "ann", body));
    const upload = await bodyOf(await call(app, "POST", "/artifacts?name=a", "ann", { text: "a" }));
    made.push({
      run: turn["run_id"] as string,
      request: turn["request_id"] as string,
      key,
      file: upload["artifact_id"] as string,
    });
  }
  const scores: Record<string, string> = {};
  const told: string[] = [];
  for (const [name, toPath] of Object.entries(PATHS)) {
    const none = made.map(toPath).map(toNothing);
    const own = name === "control" ? none : made.map(toPath);
    const pairs = name === "file" ? FILE_PAIRS : PAIRS;
    const score = z(await measure(app, own, none, pairs));
    scores[name] = score.toFixed(2);
    // One of many tests fails by chance: what tells, does so again.
    if (Math.abs(score) > SURE && Math.abs(z(await measure(app, own, none, pairs))) > SURE) told.push(name);
  }
  console.log(scores);
  return told;
}

type Thing = Readonly<Record<"run" | "request" | "key" | "file", string>>;

const PATHS: Readonly<Record<string, (thing: Thing) => string>> = {
  control: ({ run }) => `/runs/${run}`,
  run: ({ run }) => `/runs/${run}`,
  events: ({ run }) => `/events/${run}?since=0`,
  request: ({ request }) => `/request/${request}`,
  key: ({ key }) => `/board/runs?key=${key}`,
  file: ({ file }) => `/artifacts/${file}`,
  task: ({ run }) => `/ap/v1/agent/tasks/${run}`,
  inspection: ({ run }) => `/inspect/runs/${run}`,
};

/** An id of nothing that looks like another one. */
function toNothing(path: string, index: number): string {
  return path.replace(/[\w-]{8}(?=$|\?since)/, `none${String(index).padStart(4, "0")}`);
}

/** The milliseconds of each request, both kinds in a changing order. */
async function measure(
  app: App,
  own: readonly string[],
  none: readonly string[],
  pairs: number,
): Promise<readonly [readonly number[], readonly number[]]> {
  const times: [number[], number[]] = [[], []];
  const warmUp = pairs / 10;
  for (let pair = -warmUp; pair < pairs; pair += 1) {
    const index = (pair + warmUp) % own.length;
    const order = Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const);
    for (const kind of order) {
      const path = (kind === 0 ? own : none)[index] ?? "";
      const start = performance.now();
      const answer = await call(app, "GET", path, "bob");
      await answer.arrayBuffer();
      const ms = performance.now() - start;
      if (pair >= 0) times[kind].push(ms);
    }
  }
  return times;
}

/** The z of the rank-sum test of Mann and Whitney for two samples of one size. */
function z([one, other]: readonly [readonly number[], readonly number[]]): number {
  const sorted = [
    ...one.map((ms) => ({ ms, isOne: true })),
    ...other.map((ms) => ({ ms, isOne: false })),
  ].toSorted((a, b) => a.ms - b.ms);
  const size = one.length;
  const ranks = sorted.reduce((sum, { isOne }, index) => (isOne ? sum + index + 1 : sum), 0);
  const mean = (size * (2 * size + 1)) / 2;
  const deviation = Math.sqrt((size * size * (2 * size + 1)) / 12);
  return (ranks - mean) / deviation;
}
