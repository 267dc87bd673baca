import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import type { MachineFacts } from "../agent/accepted-operations.ts";
import type { Effect, Schema } from "../agent/agent.ts";
import { parseNow } from "../agent/definition/schema.ts";
import type { MachineMigrations } from "./stored-state.ts";
import type { MachineCharts } from "./chart/chart.ts";
import type { JournaledMachine } from "./journaled-logic.ts";
import type { ArtifactId } from "../../protocol/ids.ts";
import { copyJson, isObject } from "../../protocol/json.ts";
import type { MachineRequest } from "../agent/machine-port.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { withoutSecrets } from "../secrets/config-secrets.ts";
import type { Turn, TurnRequestInfo } from "../agent/turn-api.ts";

/** The `turn` of the event that a request becomes. A machine can keep it in its context, which the log has. */
export interface MachineTurn {
  readonly request: TurnRequestInfo;
  /** The `request_metadata` of the request. */
  readonly metadata: JsonObject;
  /** The configuration, with `{$secret: name}` in place of each secret value. */
  readonly config: JsonObject;
  readonly attachments: readonly ArtifactId[];
}

/** An event with its turn. */
export interface MachineEvent {
  readonly type: string;
  readonly turn: MachineTurn;
}

/** The machine to run and its first event. */
export interface MachineRun {
  readonly machine: AnyStateMachine;
  readonly journaled: JournaledMachine;
  readonly charts: MachineCharts;
  readonly effect: Effect;
  readonly event: MachineEvent;
  readonly facts: MachineFacts;
  /** The digest of the form of its state. */
  readonly shape: string;
  readonly version: string | undefined;
  readonly migrate: MachineMigrations;
  /** The result of a turn; default: the machine's output. */
  readonly output: ((snapshot: AnyMachineSnapshot) => unknown) | undefined;
}

/** The event that a request becomes: the fields of its input, and the turn. */
export function toMachineEvent(
  type: string,
  fields: unknown,
  { request, metadata, config }: Pick<Turn, "request" | "metadata" | "config">,
): MachineEvent {
  const { args } = withoutSecrets(config, "config");
  return {
    ...(fields as JsonObject),
    turn: { request, metadata, config: args, attachments: request.attachments },
    type,
  };
}

/** The event that a message becomes: the fields of its body, and the turn that takes it. Throws if the body does not fit. */
export function toMessageEvent(
  schema: Schema<unknown>,
  { name, body }: { readonly name: string; readonly body: Json },
  turn: Pick<Turn, "request" | "metadata" | "config">,
): MachineEvent {
  const parsed = parseNow(schema, copyJson(body), `message ${name}`) ?? {};
  return toMachineEvent(name, isObject(parsed) ? parsed : { body: parsed }, turn);
}

/** The event of an operation that has no turn of its own, or none yet. */
export function toOperationEvent(
  { requestId, runId, request, config }: MachineRequest,
  fields: unknown,
): MachineEvent {
  const { operation, input, attachments = [], request_metadata: metadata = {} } = request;
  const info = { requestId, runId, operation, input: copyJson(input), attachments };
  return toMachineEvent(operation, fields, { request: info, metadata: copyJson(metadata), config });
}
