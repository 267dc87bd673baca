import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import type { Database } from "../connection/database.ts";
import { Moved } from "../writer/claims.ts";
import type { ClaimedRun } from "../writer/claims.ts";
import { shardOf } from "./parts.ts";
import { openShard, takeBack } from "./shard-table.ts";
import type { ShardTable } from "./shard-table.ts";

/** The runs of a database, which move to another one. */
export interface MovableRuns {
  /** Whether this node has a claim of a run here. */
  claims(runId: RunId): boolean;
  /** The runs that this node has claimed here. */
  readonly claimed: Iterable<ClaimedRun>;
  /** Gives away the claim of a run, which moves with it; `undefined` if it does not hold, or an append is under way. */
  give(runId: RunId): ClaimedRun | undefined;
  /** Takes the claim of a run that has moved here. */
  take(run: ClaimedRun): void;
  /** Removes what the audit trail here has of a run. */
  eraseAudit(runId: RunId): Promise<void>;
  /** The agents of those of some runs that are here and are not removed. */
  agentsOf(runIds: readonly RunId[]): Promise<ReadonlyMap<RunId, string>>;
  /** Resolves when a running append of a run has ended. */
  settled(runId: RunId): Promise<void>;
}

/** A log in one of several databases. */
export type LogPart = EventLog &
  Required<Pick<EventLog, "artifacts" | "node" | "nodes" | "secrets">> &
  MovableRuns;

/** One database of a log. */
export interface LogPlace {
  readonly number: number;
  readonly database: Database;
  readonly log: LogPart;
}

/** Says of a run in a database whether it is only a copy there, which does not count. */
export type IsCopy = (runId: RunId, place: LogPlace) => boolean;

/** Who is woken by the changes of a run, in the database that has it. */
interface Tail {
  readonly runId: RunId;
  readonly shard: number;
  wake(): void;
  stop(): void;
}

/** Finds the database of a run, also while its shard moves. */
export class Places {
  readonly all: readonly LogPlace[];
  readonly first: LogPlace;
  readonly #table: ShardTable;
  readonly #byNumber: ReadonlyMap<number, LogPlace>;
  readonly #tails = new Set<Tail>();
  /** The shards of claimed runs: they are asked for with each move. */
  readonly #shards = new WeakMap<ClaimedRun, number>();

  constructor(all: readonly [LogPlace, ...LogPlace[]], table: ShardTable) {
    this.all = all;
    this.first = all[0];
    this.#table = table;
    this.#byNumber = new Map(all.map((place) => [place.number, place]));
  }

  /** The place of its database in the list; of one that this node does not know, the first. */
  indexOf(runId: RunId): number {
    const place = this.#byNumber.get(this.#table.rowOf(runId).part);
    return place === undefined ? 0 : this.all.indexOf(place);
  }

  /** The log that has a run, with the claim that this node has of it. */
  holderOf(runId: RunId): LogPart {
    const { log } = this.#at(shardOf(runId));
    if (log.claims(runId)) return log;
    for (const { log: other } of this.all) {
      if (other === log) continue;
      const run = other.give(runId);
      if (run !== undefined) log.take(run);
    }
    return log;
  }

  /** Asks the database of a run. The answer is that of the one which has it when the answer is there. */
  ask<Answer>(runId: RunId, work: (log: LogPart) => Answer | Promise<Answer>): Answer | Promise<Answer> {
    const row = this.#table.rowOf(runId);
    if (!this.#table.isSettled(row)) return this.#askSurely(row.shard, work);
    const answer = work(this.#at(row.shard).log);
    if (!(answer instanceof Promise)) return answer;
    return answer.then((found) => (this.#table.isSettled(row) ? found : this.#askSurely(row.shard, work)));
  }

  async #askSurely<Answer>(shard: number, work: (log: LogPart) => Answer | Promise<Answer>): Promise<Answer> {
    for (;;) {
      await this.#table.settle();
      const row = this.#table.row(shard);
      const answer = await work(this.#at(shard).log);
      if (this.#table.isSettled(row)) return answer;
      await this.#table.refresh();
      if (this.#table.row(shard).move === row.move) return answer;
    }
  }

  /** Asks several databases, whose answers go together: each run counts in one of them. */
  async everywhere<Answer>(work: (isCopy: IsCopy) => Promise<Answer>): Promise<Answer> {
    for (let failures = 0; failures < ATTEMPTS; failures += 1) {
      await this.#table.settle();
      const { view } = this.#table;
      const { unsettled } = view;
      const answer = await work(
        (runId, { number }) => unsettled.size > 0 && unsettled.get(shardOf(runId))?.copy === number,
      );
      if (unsettled.size > 0) await this.#table.refresh();
      const isNewest = this.#table.view === view;
      // While many shards move, each answer would be a little older than the newest move.
      if (performance.now() < view.untilMs && (isNewest || failures >= PATIENCE)) return answer;
    }
    throw new AgentError("unavailable", "the databases do not answer before shards have moved again", {
      retryAfterS: 1,
    });
  }

  /** Does what changes a run. While its shard is closed it waits; a move that does not go on is taken back. */
  async change<Result>(runId: RunId, work: () => Promise<Result>): Promise<Result> {
    const startMs = performance.now();
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Moved)) throw error;
        const waitedMs = performance.now() - startMs;
        if (waitedMs > GIVE_UP_MS)
          throw new Unavailable("a shard is being moved for too long", { cause: error });
        await this.#opened(shardOf(runId), startMs).catch((cause: unknown) => {
          throw new Unavailable("a shard is being moved, and its database is away", { cause });
        });
      }
    }
  }

  /** Resolves when no append of a run is under way in a database that it has left. */
  async settled(runId: RunId): Promise<void> {
    for (const { log } of this.all) await log.settled(runId);
  }

  /** As `EventLog.tail`. */
  tail(runId: RunId, wake: () => void): () => void {
    const shard = shardOf(runId);
    const tail: Tail = { runId, shard, wake, stop: this.#tailAt(shard, runId, wake) };
    this.#tails.add(tail);
    return () => {
      this.#tails.delete(tail);
      tail.stop();
    };
  }

  /** Shards have moved: their runs are owned and followed where they are now. */
  moved(shards: ReadonlySet<number>): void {
    const claimed = this.all.flatMap(({ log }) => [...log.claimed]);
    for (const run of claimed) {
      const shard = this.#shards.get(run) ?? shardOf(run.runId);
      this.#shards.set(run, shard);
      if (shards.has(shard) && this.#byNumber.has(this.#table.row(shard).part)) this.holderOf(run.runId);
    }
    for (const tail of this.#tails) {
      if (!shards.has(tail.shard)) continue;
      tail.stop();
      tail.stop = this.#tailAt(tail.shard, tail.runId, tail.wake);
      tail.wake();
    }
  }

  #tailAt(shard: number, runId: RunId, wake: () => void): () => void {
    const place = this.#byNumber.get(this.#table.row(shard).part);
    return place === undefined ? () => {} : place.log.tail(runId, wake);
  }

  #at(shard: number): LogPlace {
    const { part } = this.#table.row(shard);
    const place = this.#byNumber.get(part);
    if (place !== undefined) return place;
    throw new AgentError(
      "unavailable",
      `shard ${shard} has moved to database ${part}, which this node does not know`,
      {
        hint: "restart it with all databases of the log",
        retryAfterS: 1,
      },
    );
  }

  /** Resolves when a closed shard is open, here or elsewhere, or its move has been taken back, because a run has waited since a time. */
  async #opened(shard: number, sinceMs: number): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      await this.#table.refresh();
      const row = this.#table.row(shard);
      if (!(await openShard(this.#at(shard).database, row))) return;
      if (performance.now() - sinceMs > TAKE_BACK_MS) {
        await takeBack(this.first.database, row);
        continue;
      }
      await this.#table.changed(backoffMs(RETRY, tries));
    }
  }
}

/** How often a list is asked for, and how often only the newest places of all shards will do. */
const ATTEMPTS = 20;
const PATIENCE = 3;

/** How long a run waits for a move that has closed its shard, before it takes the move back. */
const TAKE_BACK_MS = 1_500;
const GIVE_UP_MS = 15_000;
/** The time between two looks at a closed shard, if nothing is heard of it. */
const RETRY = { firstMs: 20, mostMs: 250 };
