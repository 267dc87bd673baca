import type { Statechart } from "../../protocol/answers/statechart.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import type { Turn } from "./turn-api.ts";

/** The state machine of an agent. */
export interface AgentMachine {
  readonly statechart: Statechart;
  /**
   * Throws `not_accepted` unless the machine takes an operation when nothing runs in it. `kept` is the agent's memory
   * of the run: its state, or nothing for a new machine.
   */
  check(asked: MachineRequest, kept: Json | undefined): void;
  /** Runs when a turn of the machine does not succeed, in its newest recorded state; absent if the machine has no such step. */
  readonly cleanup?: ((state: object, turn: Turn) => unknown) | undefined;
}

/** A request for an operation of a machine. */
export interface MachineRequest {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly request: OperationRequest;
  /** The configuration of the agent, with secret values. */
  readonly config: JsonObject;
}

/** A machine that runs in a turn, and takes operations of other requests. */
export interface OpenMachine {
  /** Whether the machine has stopped. A stopped machine takes no operation. */
  readonly ended: boolean;
  /** Throws `not_accepted` unless the machine takes the operation now. Nothing else runs before the next `join`. */
  check(asked: MachineRequest, input: unknown): void;
  /**
   * Gives the operation to the machine. `receive` is called first with the id of the step. Returns the error that the
   * transition ended the machine with, if any.
   */
  join(asked: MachineRequest, input: unknown, receive: (callId: CallId) => void): unknown;
  /** Whether the machine takes a message now. Nothing else runs before the next `takeMessages`. */
  takes(name: string, body: Json): boolean;
  /** Takes the unread messages for which it has a transition. */
  takeMessages(): void;
}
