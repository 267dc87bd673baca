import { onTestFinished } from "vitest";
import { asRunId } from "../../../../src/testing/event-log/subject.ts";
import { Database } from "../../../../src/storage/postgres/connection/database.ts";
import { moveShards } from "../../../../src/storage/postgres/shards/move-shards.ts";
import type { MovedShard, ShardMove } from "../../../../src/storage/postgres/shards/move-shards.ts";
import { shardOf } from "../../../../src/storage/postgres/shards/parts.ts";
import { postgresUrl } from "../../../machine/postgres.ts";

/** Ids of runs in one of the last shards of the first of two databases, which move first. */
export function idsIn(shard: number, count: number): readonly string[] {
  const ids: string[] = [];
  for (let n = 0; ids.length < count; n += 1)
    if (shardOf(asRunId(`run-${n}`)) === shard) ids.push(`run-${n}`);
  return ids;
}

/** A program that moves shards, which can die. */
export interface Mover {
  /** How many statements and transactions it has sent. */
  readonly steps: number;
  /** The statements that it has sent, without transactions, and the numbers of their databases. */
  readonly sent: readonly { readonly number: number; readonly text: string }[];
  move(move: ShardMove): Promise<readonly MovedShard[]>;
  close(): Promise<void>;
}

/**
 * Opens the databases of a log for moves. The mover dies with its n-th step: it sends nothing more. `before` is awaited before each of its
 * statements.
 */
export async function openMover(
  schemas: readonly string[],
  diesAt = Infinity,
  before: (text: string, number: number) => Promise<void> | void = () => {},
): Promise<Mover> {
  const url = await postgresUrl();
  const databases = await Promise.all(
    schemas.map(async (schema, index) => ({
      number: index + 1,
      database: await Database.connect({ url, schema, max: 2 }),
    })),
  );
  let steps = 0;
  const sent: { readonly number: number; readonly text: string }[] = [];
  const counted = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    steps += 1;
    if (steps >= diesAt) throw new Dead();
    return send();
  };
  for (const { number, database } of databases) {
    const [ask, once, transact, background] = [
      database.ask.bind(database),
      database.once.bind(database),
      database.transact.bind(database),
      database.background.bind(database),
    ];
    const told = async <Answer>(text: string, send: () => Promise<Answer>): Promise<Answer> => {
      sent.push({ number, text });
      await before(text, number);
      return counted(send);
    };
    database.ask = (...args: Parameters<typeof ask>) => told(args[0], () => ask(...args)) as never;
    database.once = (...args: Parameters<typeof once>) => told(args[0], () => once(...args)) as never;
    database.transact = (work) => counted(() => transact(work));
    database.background = (work) => counted(() => background(work));
  }
  const close = async (): Promise<void> => {
    await Promise.all(databases.map(({ database }) => database.close()));
  };
  onTestFinished(close);
  return {
    close,
    sent,
    get steps() {
      return steps;
    },
    async move(move) {
      const moved: MovedShard[] = [];
      for await (const one of moveShards(databases, move)) moved.push(one);
      return moved;
    },
  };
}

/** The mover was killed. */
export class Dead extends Error {
  override readonly name = "Dead";
}
