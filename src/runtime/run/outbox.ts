import { AgentError } from "../../errors.ts";
import type { OutboxMark } from "../../ports/log-batch.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { readAccepted, readEvent } from "../replay/accepted.ts";
import { Pauses } from "../journal/pauses.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { toActorRequest } from "../replay/actor-request.ts";
import type { ActorCallEvent } from "../replay/actor-request.ts";
import type { RunContext } from "../run-context.ts";
import { Notices } from "./notices.ts";
import { toOutcome } from "./to-outcome.ts";

/** How long arrived entries are collected before one commit removes them, in milliseconds. */
const FLUSH_MS = 1_000;

/** The pause before a failed delivery is repeated, in milliseconds. */
const RETRY = { firstMs: 50, mostMs: 10_000 };

/** How many dead letters a run keeps, about: the newest ones. They are counted after so many new ones. */
const DEAD_LETTERS = 1_000;
const DEAD_CHECK = 100;

/**
 * The messages of a run to other actors: the answers to their asks, and the cancels of its own asks. Each is in the
 * log and is sent until it has arrived.
 */
export class Outbox {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  /** The pauses of failed deliveries; created with the first entry, like the list of open ones. */
  #pauses: Pauses | undefined;
  /** The entries that have not arrived. */
  #open: Map<string, OutboxMark> | undefined;
  /** The entries that have arrived, and are still in the log. */
  #arrived: OutboxMark[] = [];
  /** How many dead letters have come since they were counted. The first one of each activation has them counted. */
  #dead = DEAD_CHECK - 1;
  /** The notices of the run; created with the first. */
  #notices: Notices | undefined;
  /** Resolves when the notices that an earlier process has left are sent. */
  #first: Promise<void> | undefined;
  /** How many times notices wait for that. */
  #waiting = 0;
  #stopFlush: (() => void) | undefined;
  #stopped = false;

  constructor(context: RunContext, ledger: RunLedger) {
    this.#context = context;
    this.#ledger = ledger;
  }

  /** Whether no entry is left, here and in the log. */
  get isEmpty(): boolean {
    return this.isSent && this.#arrived.length === 0;
  }

  /** Whether everything has arrived, as far as it is known here. */
  get isSent(): boolean {
    return this.#size === 0 && this.#waiting === 0;
  }

  /** Throws `overloaded` when too many entries have not arrived. */
  checkRoom(): void {
    const { outbox: limit } = this.#context.limits;
    if (this.#size < limit) return;
    const message = `run ${this.#ledger.runId} has ${limit} replies and cancels that have not arrived`;
    throw new AgentError("overloaded", message, { retryAfterS: 1 });
  }

  /** Whether all entries have arrived, also those that an earlier process has left in the log. */
  async hasArrived(): Promise<boolean> {
    this.flush();
    await this.#ledger.committed();
    const { runId } = this.#ledger;
    return this.isEmpty && (await this.#context.log.outbox({ runId })).length === 0;
  }

  /** Sends new entries, which are committed. */
  add(marks: readonly OutboxMark[]): void {
    const isNotice = ({ kind }: OutboxMark): boolean => kind === "notice";
    for (const { kind, done = false } of marks) if (kind === "dead" && !done) this.#dead += 1;
    if (this.#dead >= DEAD_CHECK) this.#dropOldLetters();
    const notices = marks.filter(isNotice);
    this.#send(notices.length === 0 ? marks : marks.filter((mark) => !isNotice(mark)));
    if (notices.length === 0) return;
    // What an earlier process has left is older, and comes first.
    this.#first ??= this.recover();
    this.#waiting += 1;
    this.#first = this.#first
      .catch(() => {})
      .then(() => {
        this.#waiting -= 1;
        this.#send(notices);
      });
  }

  /** Sends what an earlier process left in the log. */
  async recover(): Promise<void> {
    const entries = await this.#context.log.outbox({ runId: this.#ledger.runId });
    const arrived = new Set(this.#arrived.map(keyOf));
    const left = entries.filter((entry) => !arrived.has(keyOf(entry)));
    if (!this.#stopped)
      this.#send(
        left.toSorted((one, other) => one.event - other.event),
        true,
      );
  }

  #send(marks: readonly OutboxMark[], isRepeated = false): void {
    for (const mark of marks) {
      const key = keyOf(mark);
      if (mark.done === true || mark.kind === "dead" || this.#open?.has(key) === true) continue;
      (this.#open ??= new Map()).set(key, mark);
      if (mark.kind === "notice") this.#told.add(mark, isRepeated);
      else void this.#deliver(key, mark);
    }
  }

  /** Removes the oldest dead letters of a run that has too many. */
  #dropOldLetters(): void {
    const { log, telemetry } = this.#context;
    this.#dead = 0;
    const drop = (entries: readonly OutboxMark[]): void => {
      if (this.#stopped) return;
      for (const { requestId, event } of entries.slice(0, -DEAD_LETTERS))
        this.#ledger.recorder.outbox({ requestId, kind: "dead", event, done: true });
    };
    log.outbox({ runId: this.#ledger.runId, kind: "dead" }).then(drop, (error: unknown) => {
      telemetry.fault("the dead letters of a run could not be counted", error);
    });
  }

  get #told(): Notices {
    return (this.#notices ??= new Notices(this.#context, this.#ledger, (mark) => this.#hasArrived(mark)));
  }

  /** Removes the arrived entries from the log with the next commit. */
  flush(): void {
    this.#stopFlush?.();
    this.#stopFlush = undefined;
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const { requestId, kind, event } of arrived)
      this.#ledger.recorder.outbox({ requestId, kind, event, done: true });
  }

  /** The run is passivated. */
  stop(): void {
    this.#stopped = true;
    this.#notices?.stop();
    this.#pauses?.stop();
    this.#stopFlush?.();
  }

  get #size(): number {
    return this.#open?.size ?? 0;
  }

  async #deliver(key: string, mark: OutboxMark): Promise<void> {
    const { environment, telemetry } = this.#context;
    for (let failures = 0; !this.#stopped; failures += 1) {
      try {
        await (mark.kind === "reply" ? this.#reply(mark) : this.#cancel(mark));
        break;
      } catch (thrown) {
        if (isFinal(thrown)) break;
        if (!(thrown instanceof AgentError))
          telemetry.fault(`a message about request ${mark.requestId} could not be delivered`, thrown);
      }
      if (this.#stopped) return;
      this.#pauses ??= new Pauses(environment);
      await this.#pauses.wait(backoffMs(RETRY, failures));
    }
    this.#hasArrived(mark);
  }

  #hasArrived(mark: OutboxMark): void {
    if (this.#stopped) return;
    this.#open?.delete(keyOf(mark));
    this.#arrived.push(mark);
    this.#stopFlush ??= this.#context.environment.timer(FLUSH_MS, () => this.flush());
  }

  async #reply({ requestId, event: id }: OutboxMark): Promise<void> {
    const { log, mail } = this.#context;
    const entry = await log.lookup(requestId, this.#ledger.owner);
    if (entry === undefined) return;
    const { sender, callId, request } = await readAccepted(log, entry);
    if (sender === undefined || callId === undefined) return;
    const completed = JSON.parse(await readEvent(log, entry, id)) as Completed;
    await mail.reply(sender.run_id, { requestId, callId, outcome: toOutcome(request, completed) });
  }

  async #cancel({ requestId, event: id }: OutboxMark): Promise<void> {
    const { log, mail } = this.#context;
    const { runId, key } = this.#ledger;
    // `gone` if another node has taken over the run, sent the cancel, and removed the run.
    const sent = JSON.parse(await readEvent(log, { runId, requestId }, id)) as ActorCallEvent;
    const own = await this.#acceptedOf(sent.request_id);
    if (own === undefined) return;
    const self = { agent: own.agent, ...(key !== undefined && { key }), run_id: runId };
    await mail.cancel({ from: runId, accepted: toActorRequest(sent, { self, accepted: own }) });
  }

  async #acceptedOf(requestId: RequestId): Promise<AcceptedRequest | undefined> {
    const { log } = this.#context;
    const entry = await log.lookup(requestId, this.#ledger.owner);
    return entry && readAccepted(log, entry);
  }
}

type Completed = Event & { readonly type: "RequestCompleted" };

function keyOf({ kind, requestId }: OutboxMark): string {
  return `${kind} ${requestId}`;
}

/** Whether a message is refused for good: the other actor is removed, or does not accept it. */
function isFinal(thrown: unknown): boolean {
  if (!(thrown instanceof AgentError)) return false;
  return thrown.code !== "unavailable" && thrown.code !== "internal" && thrown.code !== "overloaded";
}
