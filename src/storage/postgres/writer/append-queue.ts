import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import type { LogFigures } from "../../../ports/event-log.ts";
import type { Batch } from "../../../ports/log-batch.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../../protocol/events/texts.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import { encodeBehind, encodeBody } from "../../sql/body.ts";
import { encodeChanges } from "../../sql/changes.ts";
import { toFenced } from "../../sql/claims.ts";
import { delay, RETRY, toInvalid, WRITERS } from "../connection/database.ts";
import type { Database } from "../connection/database.ts";
import { isInvalidValue, isTransient, toReason } from "../connection/trouble.ts";
import { LostAppends, Moved } from "./claims.ts";
import type { ClaimedRun, RecentAppends } from "./claims.ts";

/** An append as the function of the database takes it. */
interface EncodedAppend {
  /** What the function takes besides the events, as JSON. */
  readonly item: string;
  /** The events as lines. */
  readonly body: string;
  /** Whether it has turns or completions to count. */
  readonly counts: boolean;
  /** The newest small appends when this one is committed; it is one of them. */
  readonly recent: RecentAppends | undefined;
}

export function encodeAppend(run: ClaimedRun, batch: Batch): EncodedAppend {
  const { events, records } = batch;
  const changes = encodeChanges(run, batch);
  const encoded = records.length === 0 ? null : JSON.stringify(records);
  const { runId, epoch, appends } = run;
  const item = [runId, epoch, appends, countEvents(events), records.length, encoded, changes];
  if (changes === null && records.length === 0 && events.length > 0) {
    const { characters = 0, line } = run.recent ?? {};
    const body = encodeBehind(line, events);
    const recent = { characters: characters + body.length, line: lineAfter(line, events, body) };
    if (recent.characters <= RECENT_CHARACTERS)
      return { item: JSON.stringify([...item, true]), body, counts: false, recent };
  }
  const counts = batch.statistics !== undefined;
  const whole = run.claimant === undefined ? item : [...item, run.claimant];
  return { item: JSON.stringify(whole), body: encodeBody(events), counts, recent: undefined };
}

/** The texts that others can join behind an append. */
function lineAfter(line: Texts | undefined, events: LoggedEvents, body: string): Texts | undefined {
  if (events.length === 1 && body.startsWith(",")) return line;
  const last = events.at(-1);
  return typeof last === "object" ? last : undefined;
}

/** How much shares a row, in characters. A change of the row copies it within its page, so it stays far below a page's 8 kB. */
const RECENT_CHARACTERS = 2_000;

/** An append that is to be committed. */
interface Job extends EncodedAppend {
  readonly run: ClaimedRun;
  /** Called once; without an error if the append was committed. */
  settle(error?: Error): void;
}

/** Why an append was refused: the reason, and for a fenced one the claim and the number of appends of the run. */
type Refusal =
  | readonly ["gone"]
  | readonly ["conflict", message: string]
  | readonly ["fenced", epoch: number, appends: number];

/**
 * Commits appends. Those that wait while two statements run go together in the next one: they share its cost and
 * one sync of the disk.
 */
export class AppendQueue {
  readonly #database: Database;
  readonly #onTrouble: (reason: string) => void;
  readonly #jobs: (Job & { readonly until: number })[] = [];
  #running = 0;
  #scheduled = false;
  readonly #idle: (() => void)[] = [];
  readonly #figures = { commits: 0, appends: 0, bytes: 0 };

  constructor(database: Database, onTrouble: (reason: string) => void) {
    this.#database = database;
    this.#onTrouble = onTrouble;
    database.prepare([...STATEMENTS, ...COUNTING_STATEMENTS]);
  }

  post(job: Job): void {
    this.#jobs.push({ ...job, until: this.#database.deadline() });
    if (this.#scheduled) return;
    this.#scheduled = true;
    // The appends of all runs that a turn of the event loop makes go together, also the texts that join another commit.
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  get figures(): LogFigures {
    return { ...this.#figures, retries: this.#database.retries, ...this.#database.load };
  }

  /** Resolves when every append has settled. */
  settled(): Promise<void> {
    if (this.#running === 0 && this.#jobs.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  #pump(): void {
    while (this.#running < WRITERS && this.#jobs.length > 0) {
      const jobs = this.#jobs.splice(0, countForStatement(this.#jobs));
      // Every statement locks its runs in the same order, so that two do not wait for each other.
      jobs.sort((a, b) => (a.run.runId < b.run.runId ? -1 : 1));
      this.#running += 1;
      void this.#commit(jobs).finally(() => {
        this.#running -= 1;
        this.#pump();
      });
    }
    if (this.#running > 0 || this.#jobs.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Commits appends together; never rejects. `wasTried`: they were sent before, and may have landed. */
  async #commit(jobs: readonly (Job & { readonly until: number })[], wasTried = false): Promise<void> {
    const until = Math.max(...jobs.map((job) => job.until));
    const items = `[${jobs.map(({ item }) => item).join(",")}]`;
    const bodies = jobs.map(({ body }) => body);
    const statements = jobs.some((job) => job.counts) ? COUNTING_STATEMENTS : STATEMENTS;
    const statement = statements[jobs.length] as string;
    for (let failures = 0; ; failures += 1) {
      try {
        const [row] = await this.#database.write<{ refusals: Readonly<Record<string, Refusal>> }>(
          statement,
          [items, ...bodies],
          until,
        );
        const settled = jobs.map((job, index) => ({
          job,
          outcome: toOutcome(job, row?.refusals[index], wasTried || failures > 0),
        }));
        if (settled.some(({ outcome }) => outcome === "landed before")) await this.#database.commit();
        this.#figures.commits += 1;
        this.#figures.appends += jobs.length;
        for (const { body } of jobs) this.#figures.bytes += body.length;
        for (const { job, outcome } of settled) job.settle(typeof outcome === "string" ? undefined : outcome);
        return;
      } catch (thrown) {
        const error = thrown instanceof Unavailable ? thrown.cause : thrown;
        // The statement can be repeated: an append that has landed already has changed the number of appends.
        const waitMs = backoffMs(RETRY, failures);
        if (isTransient(error) && performance.now() + waitMs < until) {
          this.#database.retries += 1;
          await delay(waitMs);
          continue;
        }
        if (jobs.length > 1 && !isTransient(error)) {
          // The fault is in one of them, so the others are committed.
          for (const job of jobs) await this.#commit([job], wasTried || failures > 0);
          return;
        }
        if (isInvalidValue(error)) {
          for (const job of jobs) job.settle(toInvalid(error));
          return;
        }
        const reason = toReason(error);
        this.#onTrouble(reason);
        // Those that wait would be refused one statement after the other.
        const refused = this.#database.isSilent ? [...jobs, ...this.#jobs.splice(0)] : jobs;
        for (const job of refused) job.settle(new Unavailable(reason, { cause: error }));
        return;
      }
    }
  }
}

/** What became of an append, whose statement may be a repeated one. */
function toOutcome(
  { run }: Job,
  refusal: Refusal | undefined,
  isRepeated: boolean,
): "landed" | "landed before" | Error {
  if (refusal === undefined) return "landed";
  switch (refusal[0]) {
    case "gone":
      return new AgentError("gone", `run ${run.runId} was removed`);
    case "conflict":
      return new AgentError("conflict", refusal[1]);
    case "fenced": {
      const [, epoch, appends] = refusal;
      // The owner has one append in flight, so the one more that the run has is this one, whose answer was lost.
      // The epoch is below zero while the shard is moved.
      const isOwn = epoch === run.epoch || epoch === -run.epoch;
      if (isRepeated && isOwn && appends === run.appends + 1) return "landed before";
      if (epoch < 0 && (isOwn || epoch === -1) && appends >= run.appends) return new Moved(run.runId);
      return appends < run.appends ? new LostAppends(run.runId) : toFenced(run.runId);
    }
    default:
      return refusal satisfies never;
  }
}

/** The number of jobs at the front that go into one statement; at least one. */
function countForStatement(jobs: readonly Job[]): number {
  let characters = 0;
  for (const [index, { item, body }] of jobs.entries()) {
    characters += item.length + body.length;
    if (index > 0 && (index === STATEMENT_APPENDS || characters > STATEMENT_CHARACTERS)) return index;
  }
  return jobs.length;
}

/** Fewer than the 64 subtransactions that a transaction can have before other transactions get slower. */
const STATEMENT_APPENDS = 60;
const STATEMENT_CHARACTERS = 4 * 1024 * 1024;

/** The statements with a number of bodies. */
const toStatements = (name: string): readonly string[] =>
  Array.from({ length: STATEMENT_APPENDS + 1 }, (_statement, count) => {
    const bodies = Array.from({ length: count }, (_body, index) => `$${index + 2}`).join(", ");
    return `SELECT troupe.${name}($1, VARIADIC ARRAY[${bodies}]::text[]) AS refusals`;
  });

const STATEMENTS = toStatements("append_2");
/** Those with turns or completions to count. */
const COUNTING_STATEMENTS = toStatements("append_3");
