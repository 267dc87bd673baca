import { AgentError, isInstance } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { typeOf } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { isLeaving, newRunIdBeside } from "../journal/system-runs.ts";
import { readOne } from "../replay/beginning.ts";
import { stateAt } from "../replay/load-run.ts";
import type { UnreadMessage } from "../replay/run-state.ts";
import type { RunContext } from "../run-context.ts";
import type { InboxMessage } from "../scheduler/inbox.ts";
import { within } from "../../shared/clock.ts";
import type { ContinueMessage } from "./messages.ts";

/**
 * The renewal of a run: its actor continues in a new run, because a run has a limit of events and an actor has none. The
 * run first writes the id of the new run, and then has it begin. Both steps can be repeated, so a crash between them
 * leads to the same new run.
 */
export class Renewal {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #outbox: { readonly isSent: boolean };
  /** Resolves when the turns that the run has accepted are over, or the started one rests; created for the first that waits. */
  #rest: PromiseWithResolvers<void> | undefined;
  /** The new run is being told to begin. */
  #continuing: Promise<void> | undefined;

  constructor(context: RunContext, ledger: RunLedger, outbox: { readonly isSent: boolean }) {
    this.#outbox = outbox;
    this.#context = context;
    this.#ledger = ledger;
  }

  /** Whether `check` must be called before the run takes something new. */
  concerns(isByKey = false, isPatient = false): boolean {
    if (this.#ledger.state.renewedTo !== undefined) return true;
    return isByKey && this.#isDue && (isPatient || this.#ledger.phase === "idle");
  }

  /**
   * Throws if the run was removed or renewed. A request by the key of the run renews it first, if it has too many events
   * and nothing is open. While a turn works, such a request waits for the end of all turns before it is accepted, so that an
   * actor which always has something to do is renewed too.
   */
  async check(isByKey = false, works?: () => boolean): Promise<void> {
    const ledger = this.#ledger;
    if (isByKey && works) await this.#awaitRest(works);
    if (isByKey && this.#isDue) this.#renew();
    ledger.checkThere();
    const { renewedTo: to } = ledger.state;
    if (to === undefined) return;
    await this.#continueIn(to);
    throw renewedError(ledger.runId, to);
  }

  /**
   * Has the actor of an idle run continue in a new one, so that this one is nothing but history. Returns false if the run
   * has no history, or has no key any more.
   */
  async leaveHistory(): Promise<boolean> {
    const ledger = this.#ledger;
    if (ledger.state.renewedTo === undefined) {
      if (ledger.key === undefined || !ledger.hasHistory || ledger.state.stopped !== undefined) return false;
      this.#renew();
    }
    const { renewedTo: to } = ledger.state;
    if (to === undefined) return false;
    await this.#continueIn(to);
    return true;
  }

  /** The turns of the run are over, or the started one only waits, or the run leaves memory. */
  rested(): void {
    this.#rest?.resolve();
    this.#rest = undefined;
  }

  get #isDue(): boolean {
    const { hasHistory, key, recorder, state } = this.#ledger;
    // Those that watch the run are told everything in order, so nothing of the next run may come before.
    if (state.watchers !== undefined && state.watchers.length > 0 && !this.#outbox.isSent) return false;
    // What the actor has brought along can be more than the limit.
    if (key === undefined || state.renewedTo !== undefined || !hasHistory) return false;
    // An actor that is stopped has its error to show.
    if (state.stopped !== undefined) return false;
    return recorder.head > this.#context.limits.keyedRunEvents;
  }

  async #awaitRest(works: () => boolean): Promise<void> {
    const { environment } = this.#context;
    const until = environment.monotonic() + REST_MS;
    for (let left = REST_MS; left > 0 && this.#isDue && works(); left = until - environment.monotonic())
      await within(environment, left, (this.#rest ??= Promise.withResolvers()).promise);
  }

  #renew(): void {
    const ledger = this.#ledger;
    const { agent, key, phase, updatedAt } = ledger;
    if (phase !== "idle" || agent === undefined || key === undefined) return;
    ledger.checkThere();
    const { environment, log } = this.#context;
    ledger.renew(agent, key, newRunIdBeside(environment, log, ledger.runId), updatedAt);
  }

  #continueIn(to: RunId): Promise<void> {
    this.#continuing ??= this.#sendContinue(to).finally(() => {
      this.#continuing = undefined;
    });
    return this.#continuing;
  }

  /** Has the new run begin. The run loses its key in that commit, so without a key that was done. */
  async #sendContinue(to: RunId): Promise<void> {
    await this.#ledger.committed();
    const { agent, key, runId } = this.#ledger;
    if (agent === undefined || key === undefined) return;
    const { updatedAt: idleSince } = this.#ledger;
    try {
      await this.#context.mail.continueIn(to, {
        source: runId,
        agent,
        key,
        ...(idleSince !== undefined && { idleSince }),
      });
    } catch (error) {
      // Only a removal takes the key from a run that has not given it to the new one.
      const isRemoved = isInstance(error, AgentError) && error.code === "conflict";
      throw isRemoved ? new AgentError("gone", `run ${runId} was removed`, { cause: error }) : error;
    }
    this.#ledger.unname();
  }
}

/** How long a request waits for the end of the turns before it, so that the run can be renewed, in milliseconds. */
const REST_MS = 30_000;

/**
 * Begins a run in which the actor of a renewed run continues, in one commit: it takes over the key, the memory, the
 * configuration, the schedule and the unread messages, which it returns. Does nothing if the run has begun.
 */
export async function takeOver(
  { log }: RunContext,
  ledger: RunLedger,
  { source: sourceId, agent, key, idleSince }: ContinueMessage,
): Promise<readonly InboxMessage[]> {
  if (ledger.begun) return [];
  const source = await log.run(sourceId);
  if (source === undefined || isLeaving(source)) throw new AgentError("gone", `run ${sourceId} was removed`);
  const {
    memory,
    config,
    scheduled,
    unread = [],
    watchers = [],
    newest = [],
  } = await stateAt(log, sourceId, source.head);
  const messages = await readUnread(log, sourceId, [...newest, ...unread]);
  // The message may have arrived twice.
  if (ledger.begun) return [];
  const { initialInput: input, metadata } = source;
  ledger.begin(agent, input, metadata, { owner: source.owner });
  ledger.name(agent, key, sourceId);
  const speaker = ledger.speakerOf({ requestId: null, agent });
  ledger.recorder.event(speaker, {
    type: "RunCreated",
    input,
    metadata,
    key,
    continues: sourceId,
    ...(messages.length > 0 && { carried: messages.length }),
  });
  for (const [name, value] of Object.entries(memory))
    ledger.change({ type: "MemoryCommitted", agent: name, value });
  if (config) ledger.change({ type: "ConfigRecorded", ...config });
  if (scheduled) ledger.change({ type: "Scheduled", ...scheduled });
  if (watchers.length > 0)
    ledger.change({ type: "Watchers", watchers: watchers.map((watcher) => ({ ...watcher, since: 0 })) });
  const carried = messages.map(({ message_id: messageId, name, body, sender, hops, by }) =>
    ledger.carry(speaker, messageId, {
      name,
      body,
      ...(sender && { sender }),
      ...(hops && { hops }),
      ...(by && { by }),
    }),
  );
  ledger.save("now", idleSince);
  return carried.slice(newest.length);
}

type MessageEvent = Event & { readonly type: "MessageReceived" };

async function readUnread(
  log: EventLog,
  runId: RunId,
  unread: readonly Pick<UnreadMessage, "id">[],
): Promise<readonly MessageEvent[]> {
  return Promise.all(
    unread.map(async ({ id }) => {
      const text = await readOne(log, runId, id);
      if (text === undefined) throw new AgentError("gone", `run ${runId} was removed`);
      return JSON.parse(text) as MessageEvent;
    }),
  );
}

/** Reads how a run was renewed; `undefined` if it was not. */
export async function readRenewed(
  log: EventLog,
  { runId, head }: Pick<RunEntry, "runId" | "head">,
): Promise<(Event & { readonly type: "Renewed" }) | undefined> {
  if (head === 0) return undefined;
  const [text] = (await log.read(runId, { after: head - 1, limit: 1 })).events;
  if (typeof text !== "string" || typeOf(text) !== "Renewed") return undefined;
  return JSON.parse(text) as Event & { readonly type: "Renewed" };
}

/** The refusal of something new for a run whose actor continues in another one. */
export function renewedError(runId: RunId, to: RunId): AgentError {
  return new AgentError("conflict", `run ${runId} has ended: its actor continues in run ${to}`, {
    hint: `send the request to run ${to}, or by the key of the actor`,
    facts: { renewed_to: to },
  });
}

/** Whether something was refused because the actor continues in another run. */
export function isRenewed(error: unknown): boolean {
  return isInstance(error, AgentError) && error.details.facts?.["renewed_to"] !== undefined;
}

/** How often something is sent again: an actor can be renewed again on the way. */
const MOST_RENEWALS = 10;

/** Sends something by a key; again if the run of the key was renewed and the key names another run now. */
export async function sendAcrossRenewals<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let renewals = 0; ; renewals += 1) {
    try {
      return await send();
    } catch (error) {
      if (renewals === MOST_RENEWALS || !isRenewed(error)) throw error;
    }
  }
}
