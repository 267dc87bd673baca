import { AgentError } from "../errors.ts";
import type { RunId } from "../protocol/ids.ts";
import type { TurnRequest } from "../protocol/requests.ts";
import type { LifecycleState } from "./lifecycle.ts";
import type { AskedWait } from "./open-call.ts";

/** What decides whether a run takes one more request. */
export interface Admitting {
  readonly runId: RunId;
  /** The id of its newest event. */
  readonly head: number;
  /** So many events it may have. */
  readonly limit: number;
  readonly state: LifecycleState;
  /** Has what the run has asked its caller, oldest first. */
  readonly slot: { readonly waits: readonly AskedWait[] };
  readonly mailbox: { checkRoom(): void };
}

/** Throws unless a run takes a request: `run_full`, `conflict` when it is busy, or `overloaded`. */
export function admit({ runId, head, limit, state, slot, mailbox }: Admitting, request: TurnRequest): void {
  if (head >= limit)
    throw new AgentError("run_full", `run ${runId} has its ${limit} events; start a new one`);
  const { on_busy: onBusy } = request;
  if (state === "idle" || onBusy === "interrupt") return;
  if (onBusy === "reject") throw new AgentError("conflict", `run ${runId} is busy`);
  if (onBusy === undefined && state === "waiting") {
    const [wait] = slot.waits;
    throw new AgentError("conflict", `run ${runId} waits for input`, {
      hint: "answer it with ResumeWithInput, or say on_busy",
      facts: { wait_id: wait?.waitId ?? null, request_keys: wait?.questions ?? {} },
    });
  }
  mailbox.checkRoom();
}
