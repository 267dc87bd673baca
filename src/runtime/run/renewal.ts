import { AgentError, isInstance } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import { typeOf } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { isLeaving, newRunId } from "../journal/system-runs.ts";
import { stateAt } from "../replay/load-run.ts";
import type { RunContext } from "../run-context.ts";
import type { ContinueMessage } from "./messages.ts";
import type { Outbox } from "./outbox.ts";

/**
 * The renewal of a run: its actor continues in a new run, because a run has a limit of events and an actor has none. The
 * run first writes the id of the new run, and then has it begin. Both steps can be repeated, so a crash between them
 * leads to the same new run.
 */
export class Renewal {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #outbox: Outbox;

  constructor(context: RunContext, ledger: RunLedger, outbox: Outbox) {
    this.#context = context;
    this.#ledger = ledger;
    this.#outbox = outbox;
  }

  /** Whether `check` must be called before the run takes something new. */
  concerns(isByKey = false): boolean {
    return this.#ledger.state.renewedTo !== undefined || (isByKey && this.#isDue);
  }

  /**
   * Throws if the run was removed or renewed. A request by the key of the run renews it first, if it has too many events
   * and nothing is open.
   */
  async check(isByKey = false): Promise<void> {
    const ledger = this.#ledger;
    if (isByKey) await this.#renew();
    ledger.checkThere();
    const { renewedTo: to } = ledger.state;
    if (to === undefined) return;
    await ledger.committed();
    await this.#continueIn(to);
    throw renewedError(ledger.runId, to);
  }

  get #isDue(): boolean {
    const { key, phase, recorder, state } = this.#ledger;
    if (key === undefined || recorder.head <= this.#context.limits.keyedRunEvents) return false;
    return phase === "idle" && state.renewedTo === undefined && (state.unread ?? []).length === 0;
  }

  async #renew(): Promise<void> {
    const ledger = this.#ledger;
    do {
      if (!this.#isDue || !(await this.#outbox.hasArrived())) return;
      // A request may have been accepted in the meantime.
    } while (!ledger.recorder.isFlushed || !this.#outbox.isEmpty);
    ledger.checkThere();
    const { agent, key } = ledger;
    if (!this.#isDue || agent === undefined || key === undefined) return;
    ledger.renew(agent, key, newRunId(this.#context.environment));
  }

  /** Has the new run begin. The run loses its key in that commit, so without a key that was done. */
  async #continueIn(to: RunId): Promise<void> {
    const { agent, key, runId } = this.#ledger;
    if (agent === undefined || key === undefined) return;
    try {
      await this.#context.mail.continueIn(to, { source: runId, agent, key });
    } catch (error) {
      // Only a removal takes the key from a run that has not given it to the new one.
      const isRemoved = isInstance(error, AgentError) && error.code === "conflict";
      throw isRemoved ? new AgentError("gone", `run ${runId} was removed`, { cause: error }) : error;
    }
    this.#ledger.unname();
  }
}

/**
 * Begins a run in which the actor of a renewed run continues, in one commit: it takes over the key, the memory, the
 * configuration and the schedule. Does nothing if the run has begun.
 */
export async function takeOver(
  { log }: RunContext,
  ledger: RunLedger,
  { source: sourceId, agent, key }: ContinueMessage,
): Promise<void> {
  if (ledger.begun) return;
  const source = await log.run(sourceId);
  if (source === undefined || isLeaving(source)) throw new AgentError("gone", `run ${sourceId} was removed`);
  const { memory, config, scheduled } = await stateAt(log, sourceId, source.head);
  // The message may have arrived twice.
  if (ledger.begun) return;
  const { initialInput: input, metadata } = source;
  ledger.begin(agent, input, metadata, undefined);
  ledger.name(agent, key, sourceId);
  ledger.recorder.event(ledger.speakerOf({ requestId: null, agent }), {
    type: "RunCreated",
    input,
    metadata,
    key,
    continues: sourceId,
  });
  for (const [name, value] of Object.entries(memory))
    ledger.change({ type: "MemoryCommitted", agent: name, value });
  if (config) ledger.change({ type: "ConfigRecorded", ...config });
  if (scheduled) ledger.change({ type: "Scheduled", ...scheduled });
  ledger.save("now");
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
