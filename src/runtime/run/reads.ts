import { AgentError } from "../../errors.ts";
import { createSpeaker, encodeEvent, toTimestamp } from "../../protocol/events/encode.ts";
import type { RunId } from "../../protocol/ids.ts";
import { endRequest } from "../activation/end-request.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { TurnSlot } from "../activation/turn-slot.ts";
import { performRead } from "../actor/read.ts";
import type { ReadEnd } from "../actor/read.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { RunContext } from "../run-context.ts";
import { toRunReceipt } from "./messages.ts";
import type { RunReceipt } from "./messages.ts";

/** How many operations read one run at a time. */
const AT_ONCE = 16;

/** How many more wait for their turn. */
const WAITING = 1_000;

/** How often the use of an actor is written in the time after which it is removed. */
const NOTED_IN = 10;

/** The operations that read a run: they run at once, beside its turns, also while a turn waits for something. */
export class Reads {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #slot: TurnSlot;
  #running = 0;
  /** Those that wait, oldest first. */
  readonly #waiting: (() => void)[] = [];

  constructor(context: RunContext, ledger: RunLedger, slot: TurnSlot) {
    this.#context = context;
    this.#ledger = ledger;
    this.#slot = slot;
  }

  /** Performs an operation that leaves nothing in the log; its end is the event of the receipt. */
  async answer(accepted: AcceptedRequest): Promise<RunReceipt> {
    const end = await this.perform(accepted);
    const { runId, recorder } = this.#ledger;
    const event = toCompleted(this.#context, runId, accepted, end);
    return toRunReceipt(runId, recorder.head, { requestId: accepted.requestId, event });
  }

  /** Performs an operation. */
  async perform(accepted: AcceptedRequest): Promise<ReadEnd> {
    await this.#enter();
    try {
      return await this.#read(accepted);
    } finally {
      this.#leave();
    }
  }

  async #read(accepted: AcceptedRequest): Promise<ReadEnd> {
    const { agents, secrets } = this.#context;
    const ledger = this.#ledger;
    const { runId, key, state } = ledger;
    const agent = agents.get(accepted.agent);
    const args = ledger.begun ? state.config?.args : agents.configOf(agent.name);
    const end = await performRead(this.#context, agent, accepted, {
      runId,
      key: key ?? accepted.request.key,
      memory: state.memory[agent.name],
      config: args === undefined ? {} : secrets.reveal(args),
      machine: agent.machine && this.#slot.machineState,
    });
    // What it has read counts when it is committed. A turn that is replayed has changed nothing yet.
    if (!ledger.recorder.isPaused) {
      this.#noteUse(agent.expireMs);
      await ledger.committed();
    }
    return end;
  }

  /** A read counts as use of an actor that is removed when it is idle. It is written now and then, and is no event. */
  #noteUse(expireMs: number | undefined): void {
    const ledger = this.#ledger;
    const { updatedAt = Infinity } = ledger;
    if (expireMs !== undefined && ledger.now - updatedAt >= expireMs / NOTED_IN) ledger.save();
  }

  async #enter(): Promise<void> {
    if (this.#running < AT_ONCE) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= WAITING)
      throw new AgentError("overloaded", `${WAITING} operations wait to read run ${this.#ledger.runId}`, {
        retryAfterS: 1,
      });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    await promise;
  }

  /** Passes its place on. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}

/**
 * Writes an operation that only reads with its end, beside the turns of its run. The state does not change, so nothing else is
 * needed of it after a crash. Returns the encoded RequestStarted.
 */
export function writeRead(
  context: RunContext,
  ledger: RunLedger,
  accepted: AcceptedRequest,
  end: ReadEnd,
): string {
  const { agents, telemetry } = context;
  const { agent } = accepted;
  ledger.accept(accepted);
  telemetry.accepted(agent);
  const started = ledger.pass(accepted, agents.versionOf(agents.get(agent)), (speaker) => {
    endRequest(context, ledger, speaker, accepted, end);
  });
  ledger.save();
  return started;
}

/** Performs an operation that reads an actor without a run: it has the memory of a new one. */
export async function readNew(
  context: Pick<RunContext, "agents" | "environment" | "secrets">,
  accepted: AcceptedRequest,
): Promise<RunReceipt> {
  const { agents, secrets } = context;
  const { agent: name, requestId, request } = accepted;
  const config = agents.configOf(name);
  const end = await performRead(context, agents.get(name), accepted, {
    runId: "",
    key: request.key,
    memory: undefined,
    config: config === undefined ? {} : secrets.reveal(config),
  });
  return toRunReceipt("", 0, { requestId, event: toCompleted(context, "", accepted, end) });
}

/** The end of an operation that reads, as an event that is in no log and so has the id 0. */
function toCompleted(
  { environment }: Pick<RunContext, "environment">,
  runId: RunId | "",
  { requestId, agent }: AcceptedRequest,
  { finishReason, result, truncated, output, error }: ReadEnd,
): string {
  const address = { run_id: runId === "" ? null : runId, request_id: requestId, agent, depth: 0 };
  return encodeEvent(createSpeaker(address), 0, toTimestamp(environment.now()), {
    type: "RequestCompleted",
    finish_reason: finishReason,
    result,
    ...(truncated === true && { result_truncated: true }),
    output,
    ...(error && { error }),
  });
}
