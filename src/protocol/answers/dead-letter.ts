import type { SenderRef } from "../actors.ts";
import type { RequestId, RunId } from "../ids.ts";
import type { Json } from "../json.ts";

/** Something that an actor was told and that had no effect: it was not taken, or its turn failed. */
export interface DeadLetter {
  /** The run that holds it: that of the sender, or that in which the turn failed. */
  readonly run_id: RunId;
  readonly request_id: RequestId;
  /** `refused`: the actor did not take it; `failed`: its turn has ended with an error. */
  readonly kind: "refused" | "failed";
  /** The actor that it is for. */
  readonly agent: string;
  readonly key?: string;
  readonly to_run_id?: RunId;
  /** The operation or the message. */
  readonly operation: string;
  readonly input: Json;
  readonly sender?: SenderRef;
  readonly error?: { readonly code: string; readonly message: string };
  /** ISO 8601, UTC. */
  readonly at: string;
}
