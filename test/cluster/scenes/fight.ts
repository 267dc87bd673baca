import { postgresLog } from "troupe/postgres";
import type { PostgresLog } from "troupe/postgres";
import { Fenced } from "../../../src/ports/event-log.ts";
import type { Cursor } from "../../../src/ports/event-log.ts";
import type { RunRow } from "../../../src/ports/log-batch.ts";
import type { Random } from "../../../src/testing/event-log/random.ts";
import type { Scene } from "./scene.ts";

/** Four nodes take three runs from each other; each writes as long as its claim holds. */
export const fight: Scene = {
  name: "four nodes fight for three runs, 100 fenced claims",
  async play(cluster, random) {
    const schema = `fight_${cluster.newId().replaceAll("-", "_")}`;
    const open = (): Promise<PostgresLog> => postgresLog({ url: cluster.engine.url, schema, max: 3 });
    const nodes = [await open(), ...(await Promise.all([open(), open(), open()]))];
    const written = new Map<string, string>();
    const state = { fenced: 0, written, random };
    await Promise.all(nodes.map((log, at) => fightOne(log, `node-${at}`, state)));
    const wrong = await compare(nodes[0] as PostgresLog, written);
    await Promise.all(nodes.map((log) => log.close()));
    return wrong;
  },
};

/** The number of claims that are lost in one scene. */
const FENCED = 100;

const RUNS = ["one", "two", "three"];

interface Fight {
  fenced: number;
  /** The acknowledged events, by run and id. */
  readonly written: Map<string, string>;
  readonly random: Random;
}

async function fightOne(log: PostgresLog, name: string, state: Fight): Promise<void> {
  let count = 0;
  while (state.fenced < FENCED) {
    const { cursor } = await log.claim(RUNS[state.random.below(RUNS.length)] as string);
    try {
      count = await writeOn(log, cursor, state, { name, count });
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
      state.fenced += 1;
    }
  }
}

/** Appends to a run until the fight is over; `Fenced` when another node has taken it. */
async function writeOn(
  log: PostgresLog,
  claimed: Cursor,
  state: Fight,
  { name, count: before }: { readonly name: string; readonly count: number },
): Promise<number> {
  let [cursor, count] = [claimed, before];
  while (state.fenced < FENCED) {
    const { runId, head } = cursor;
    const events = Array.from({ length: 1 + state.random.below(3) }, (_, at) =>
      JSON.stringify({ id: head + 1 + at, type: "TextOutput", by: `${name} ${(count += 1)}` }),
    );
    cursor = await log.append(cursor, { events, records: [], run: ROW });
    for (const [at, text] of events.entries()) {
      const key = `${runId}/${head + 1 + at}`;
      if (state.written.has(key)) throw new Error(`event ${key} was written by two nodes`);
      state.written.set(key, text);
    }
  }
  return count;
}

/** The log has what was acknowledged, and nothing else. */
async function compare(log: PostgresLog, written: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const wrong: string[] = [];
  let count = 0;
  for (const runId of RUNS) {
    const { events } = await log.read(runId, { after: 0, records: true });
    count += events.length;
    for (const [at, text] of events.entries()) {
      if (written.get(`${runId}/${at + 1}`) !== text)
        wrong.push(
          `event ${at + 1} of run ${runId} is ${JSON.stringify(text)}, which was acknowledged to no node`,
        );
    }
  }
  if (count !== written.size)
    wrong.push(`the runs have ${count} events, and ${written.size} were acknowledged`);
  return wrong;
}

const ROW: RunRow = {
  agent: "echo",
  status: "idle",
  createdAt: 1,
  updatedAt: 1,
  turns: 1,
  initialInput: null,
  metadata: {},
};
