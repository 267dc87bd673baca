/** @module-tag long */
// Moves that die at each of their steps, under generated load. `MOVE_STEPS=all` tries all steps, `MOVE_SEED` begins elsewhere.
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { messageOf } from "../../../../src/errors.ts";
import { Fenced } from "../../../../src/ports/event-log.ts";
import type { Cursor, EventLog } from "../../../../src/ports/event-log.ts";
import { toEncoded } from "../../../../src/protocol/events/texts.ts";
import { shardOf } from "../../../../src/storage/postgres/shards/parts.ts";
import { createRandom } from "../../../../src/testing/event-log/random.ts";
import type { Random } from "../../../../src/testing/event-log/random.ts";
import { accepted, asRequestId, asRunId, nextEvents } from "../../../../src/testing/event-log/subject.ts";
import { mapConcurrent } from "../../../../src/shared/map-concurrent.ts";
import { needsPostgres } from "../../../machine/postgres.ts";
import { newSchema, query } from "../logs.ts";
import { Dead, idsIn, openMover } from "./moving.ts";
import { openSchemas } from "./shards.ts";

needsPostgres();

const SHARD = 2_047;
const SEED = Number(process.env["MOVE_SEED"] ?? 1);
const AT_ONCE = 3;
/** How many steps are tried. */
const SOME = 6;

test("a move that dies at any step loses nothing, doubles nothing, and stops no run; the next one ends it", async () => {
  const steps = await countSteps();
  const all = Array.from({ length: steps }, (_, step) => step + 1);
  const random = createRandom(SEED);
  const some = Array.from({ length: SOME }, () => all[random.below(all.length)] ?? 1);
  const chosen = process.env["MOVE_STEPS"] === "all" ? all : [...new Set(some)];
  const wrong: string[] = [];
  for await (const found of mapConcurrent(chosen, AT_ONCE, (step) => play(step, createRandom(SEED + step))))
    wrong.push(...found);
  expect(wrong).toEqual([]);
});

/** Plays a move that dies with a step, and another one. Resolves with what is wrong. */
async function play(step: number, random: Random): Promise<readonly string[]> {
  const schemas = [newSchema(), newSchema()] as const;
  const nodes = [await openFor(schemas), await openFor(schemas)] as const;
  const load = new Load(nodes, random, `step ${step}`);
  const ids = [...idsIn(SHARD, 4), ...idsIn(SHARD - 1, 1), ...idsIn(SHARD + 1, 1)];
  for (const id of ids) await load.begin(id);
  const dying = await openMover(schemas, step);
  const died = dying.move({ to: 2, count: 1 }).then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = await load.until(died);
  if (error !== undefined && !(error instanceof Dead)) load.wrong.push(`step ${step}: ${messageOf(error)}`);
  // Each run goes on although the dead mover ends nothing.
  await load.until(load.eachGrows());
  const next = await openMover(schemas);
  await load.until(next.move({ to: 2, count: 1 }));
  await load.until(load.eachGrows());
  await load.verify(schemas);
  // The cases after this one need the connections.
  await Promise.all([...nodes, dying, next].map((one) => one.close()));
  return load.wrong;
}

/** The number of steps of a move without a fault. */
async function countSteps(): Promise<number> {
  const schemas = [newSchema(), newSchema()] as const;
  const log = await openFor(schemas);
  const load = new Load([log, log], createRandom(SEED), "no fault");
  for (const id of idsIn(SHARD, 4)) await load.begin(id);
  const mover = await openMover(schemas);
  await mover.move({ to: 2, count: 1 });
  return mover.steps;
}

/** Runs that two nodes change and read at random. */
class Load {
  readonly wrong: string[] = [];
  readonly #nodes: readonly [EventLog, EventLog];
  readonly #random: Random;
  readonly #name: string;
  readonly #runs = new Map<string, { owner: EventLog; cursor: Cursor }>();

  constructor(nodes: readonly [EventLog, EventLog], random: Random, name: string) {
    this.#nodes = nodes;
    this.#random = random;
    this.#name = name;
  }

  async begin(id: string): Promise<void> {
    const owner = this.#anyNode();
    const { cursor } = await owner.claim(asRunId(id));
    const batch = { ...nextEvents(cursor, 1), requests: [accepted(`of-${id}`, { createdAt: 1 })] };
    this.#runs.set(id, { owner, cursor: await owner.append(cursor, batch) });
  }

  /** Changes and reads runs until something has ended. */
  async until<Result>(ends: Promise<Result>): Promise<Result> {
    let isOver = false;
    const ended = ends.finally(() => (isOver = true));
    const work = async (id: string): Promise<void> => {
      while (!isOver) {
        await this.#act(id);
        await pause();
      }
    };
    const list = async (): Promise<void> => {
      while (!isOver) {
        await this.#list();
        await pause();
      }
    };
    await Promise.all([...Array.from(this.#runs.keys(), work), list(), ended.catch(() => {})]);
    return ended;
  }

  /** Resolves when each run has more events than now. */
  async eachGrows(): Promise<void> {
    const heads = Array.from(this.#runs, ([id, { cursor }]) => [id, cursor.head] as const);
    const grows = ([id, head]: readonly [string, number]): boolean =>
      (this.#runs.get(id)?.cursor.head ?? 0) > head;
    while (!heads.every(grows)) await setTimeout(20);
  }

  async #act(id: string): Promise<void> {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    try {
      switch (this.#random.below(5)) {
        case 0: {
          run.owner = this.#anyNode();
          ({ cursor: run.cursor } = await this.#checkedClaim(run.owner, id, run.cursor.head));
          return;
        }
        case 1: {
          await this.#read(id, run.cursor.head);
          return;
        }
        default:
          run.cursor = await run.owner.append(run.cursor, nextEvents(run.cursor, 1 + this.#random.below(3)));
      }
    } catch (error) {
      // No other part of the load claims it.
      const what = error instanceof Fenced ? "was fenced" : `failed with ${String(error)}`;
      this.#fails(`${id} ${what}`);
      ({ cursor: run.cursor } = await run.owner.claim(asRunId(id)));
    }
  }

  async #checkedClaim(node: EventLog, id: string, head: number): Promise<{ readonly cursor: Cursor }> {
    const claim = await node.claim(asRunId(id));
    if (claim.cursor.head !== head) this.#fails(`${id} was claimed at ${claim.cursor.head}, not ${head}`);
    return claim;
  }

  async #read(id: string, head: number): Promise<void> {
    const node = this.#anyNode();
    const { events } = await node.read(asRunId(id), { after: 0 });
    const ids = toEncoded(events).map((text) => (JSON.parse(text) as { id: number }).id);
    if (ids.some((event, at) => event !== at + 1) || ids.length < head)
      this.#fails(`${id} was read with ${ids.length} events of ${head}: ${ids.slice(-3).join(", ")}`);
    const entry = await node.lookup(asRequestId(`of-${id}`));
    if (entry?.runId !== id) this.#fails(`the request of ${id} was not found`);
  }

  async #list(): Promise<void> {
    const { runs } = await this.#anyNode().list({ limit: 1 + this.#random.below(3) * 10 });
    const ids = runs.map(({ runId }) => runId);
    if (new Set(ids).size < ids.length) this.#fails(`a list has ${ids.join(", ")}`);
    const whole = await this.#anyNode().open();
    const found = whole.map(({ runId }) => String(runId)).toSorted();
    const expected = Array.from(this.#runs.keys()).toSorted();
    if (found.join() !== expected.join()) this.#fails(`open requests are of ${found.join(", ")}`);
  }

  /** Checks where everything is at the end. */
  async verify(schemas: readonly string[]): Promise<void> {
    for (const [id, { cursor }] of this.#runs) await this.#read(id, cursor.head);
    const [first = ""] = schemas;
    const shards = await query(`SELECT shard, part, copy FROM ${first}.shard ORDER BY shard`);
    if (shards.some(({ copy }) => copy !== null)) this.#fails("a shard has a copy");
    for (const [at, schema] of schemas.entries()) {
      const expected = Array.from(this.#runs.keys()).filter(
        (id) => shards[shardOf(asRunId(id))]?.["part"] === at + 1,
      );
      for (const [table, key] of [
        ["run", "id"],
        ["batch", "run"],
        ["request", "run"],
      ] as const) {
        const rows = await query(`SELECT DISTINCT ${key} AS id FROM ${schema}.${table} ORDER BY 1`);
        if (rows.map(({ id }) => id).join() !== expected.toSorted().join())
          this.#fails(`${table} of database ${at + 1} has ${rows.map(({ id }) => id).join(", ")}`);
      }
    }
    for (const node of this.#nodes)
      if (node.health().warnings !== undefined)
        this.#fails(`a node warns: ${String(node.health().warnings)}`);
  }

  #anyNode(): EventLog {
    return this.#nodes[this.#random.below(2)] as EventLog;
  }

  #fails(what: string): void {
    this.wrong.push(`${this.#name}: ${what}`);
  }
}

/** So that the cases of one time share the machine. */
function pause(): Promise<void> {
  return setTimeout(10);
}

async function openFor(schemas: readonly string[]): Promise<EventLog> {
  const log = await openSchemas(schemas);
  onTestFinished(() => log.close());
  return log;
}
