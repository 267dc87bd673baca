import type { AnyActorLogic, AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from "xstate";
import type { HoldReason } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import { copyJson, isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { isSchema } from "../agent/definition/check-definition.ts";
import { parseNow, toJsonSchema } from "../agent/definition/schema.ts";
import { errorMessage } from "../agent/error-message.ts";
import { digest } from "../../shared/digest.ts";
import { toJson } from "../journal/json-limits.ts";
import type { MachineState } from "../journal/records.ts";
import { questionsIn } from "./calls/waits.ts";
import { isMachine } from "./chart/chart.ts";

/** Functions that bring states of other versions of a machine to its own, by version. */
export type MachineMigrations = { readonly [version: string]: (snapshot: JsonObject) => unknown };

/** A machine that continues from stored states. */
export interface StoredMachine {
  readonly machine: AnyStateMachine;
  readonly version: string | undefined;
  readonly migrate: MachineMigrations;
  /** The digest of the form of its state. */
  readonly shape: string;
}

/** A state that the machine can continue from, or why it cannot. */
export type FittingState =
  | { readonly state: MachineState; readonly misfit?: undefined }
  | { readonly misfit: HoldReason };

/** Maximum size of a machine's state in one record. */
export const STATE_LIMIT_BYTES = 1_048_576;

/** A digest of what a machine's state consists of: equal for machines with the same form of state. */
export function shapeOf(machine: AnyStateMachine, chart: string): string {
  const schema = contextSchemaOf(machine);
  const parts = [chart, contextNames(machine), ...(schema ? [toJsonSchema(schema, "input")] : [])];
  return digest(JSON.stringify(parts));
}

/** The state that a machine keeps between two turns, with its version. */
export function toKept(snapshot: unknown, { version, shape }: StoredMachine): Json {
  const by = { shape, ...(version !== undefined && { version }) };
  return { ...(snapshot as object), [STORED_BY]: by };
}

/** A kept state as one that was logged in a turn; `undefined` if there is none. */
export function fromKept(kept: Json | undefined): MachineState | undefined {
  if (!isObject(kept)) return undefined;
  const { [STORED_BY]: by = {}, ...snapshot } = kept;
  const none = { waits: {}, timers: [], promises: {} };
  return { snapshot, ...none, ...(by as { readonly shape?: string; readonly version?: string }) };
}

/** What a kept state was stored by. A snapshot of XState has no such field. */
const STORED_BY = "troupe";

/** Brings a stored state to the version of a machine, and finds out whether the machine can continue from it. */
export function toFitting(
  { machine, version, migrate, shape }: StoredMachine,
  stored: MachineState,
): FittingState {
  const { version: before = version } = stored;
  const migration =
    before === version || !Object.hasOwn(migrate, before ?? "") ? undefined : migrate[before ?? ""];
  if (migration === undefined) {
    const misfit = toMisfit(machine, stored, shape);
    return misfit ? { misfit } : { state: stored };
  }
  try {
    const given = copyJson(stored.snapshot) as JsonObject;
    const snapshot = toJson(migration(given), "what the migration returned", STATE_LIMIT_BYTES);
    const lost = toSnapshotMisfit(machine, snapshot, false);
    if (lost) return { misfit: lost };
    // No digest is empty, so everything is checked.
    const state = { ...stored, snapshot, shape: "", waits: toRenamed(machine, { ...stored, snapshot }) };
    const misfit = toMisfit(machine, state, shape);
    return misfit ? { misfit } : { state };
  } catch (thrown) {
    const found = `a migration that fails: ${errorMessage(thrown)}`;
    return { misfit: toReason(`a state of version ${before ?? ""}`, found) };
  }
}

/** The open questions of a migrated state: one whose state has another name now belongs to the next state that asks. */
function toRenamed(machine: AnyStateMachine, { snapshot, waits }: MachineState): MachineState["waits"] {
  const asking = [...questionsIn(toResolved(machine, snapshot)).keys()];
  const free = asking.filter((stateId) => !Object.hasOwn(waits, stateId));
  const renamed = Object.entries(waits).map(([stateId, callId]): [string, CallId] => [
    asking.includes(stateId) ? stateId : (free.shift() ?? stateId),
    callId,
  ]);
  return Object.fromEntries(renamed);
}

function toResolved(machine: AnyStateMachine, snapshot: unknown): AnyMachineSnapshot {
  const { value, context } = snapshot as Partial<Record<string, unknown>>;
  return machine.resolveState({ value: value as never, context });
}

/** Why a machine cannot continue from a stored state; `undefined` if it can. */
function toMisfit(machine: AnyStateMachine, state: MachineState, shape: string): HoldReason | undefined {
  const { snapshot, waits, timers, promises, shape: before } = state;
  const misfit = toSnapshotMisfit(machine, snapshot, before === undefined || before === shape);
  if (misfit || before === shape) return misfit;
  const states = [...nodesOf(machine.root)];
  const asking = Object.keys(waits).find((stateId) => !states.some(({ id }) => id === stateId));
  if (asking !== undefined)
    return toReason(`a question of state ${asking}`, `State '${asking}' does not exist`);
  const events = new Set(states.flatMap(({ after }) => after.map(({ eventType }) => String(eventType))));
  for (const { event, target } of timers) {
    const { type } = event;
    if (typeof type !== "string" || !type.startsWith(DELAY)) continue;
    if (target === undefined && !events.has(type)) return toReason(`the delay ${type}`, "no such delay");
  }
  const lost = Object.keys(promises).find((path) => !hasChild(snapshot, path.split("/")));
  return lost === undefined ? undefined : toReason(`a call of the actor ${lost}`, "no such actor");
}

/** What the events of delays begin with. */
const DELAY = "xstate.after.";

/** Why a machine, or one inside it, cannot continue from a snapshot. */
function toSnapshotMisfit(
  machine: AnyStateMachine,
  snapshot: unknown,
  isSameForm: boolean,
): HoldReason | undefined {
  const { value, context, children } = snapshot as Partial<Record<string, unknown>>;
  try {
    toResolved(machine, snapshot);
  } catch (thrown) {
    return toReason(`a state in ${JSON.stringify(value)}`, errorMessage(thrown));
  }
  for (const [id, child] of Object.entries(isObject(children) ? children : {})) {
    const { src, snapshot: inside } = child as Partial<Record<string, unknown>>;
    if (typeof src !== "string" || src.includes(INLINE)) continue;
    const logics = machine.implementations.actors as { readonly [src: string]: AnyActorLogic | undefined };
    const logic = logics[src];
    if (logic === undefined) return toReason(`the actor ${src}`, `no actor ${src} for ${id}`);
    const misfit =
      isMachine(logic) && isObject(inside) ? toSnapshotMisfit(logic, inside, isSameForm) : undefined;
    if (misfit) return misfit;
  }
  return isSameForm ? undefined : toContextMisfit(machine, context);
}

/** A part of the names that XState gives to actors without one. */
const INLINE = "xstate.invoke";

/** Code can remove a field on purpose, and be wrong about its own schema: this is only asked of a machine that was changed. */
function toContextMisfit(machine: AnyStateMachine, context: unknown): HoldReason | undefined {
  const names = isObject(context) ? Object.keys(context) : [];
  const expected = `a context with ${names.join(", ") || "nothing"}`;
  const missing = contextNames(machine).find((name) => !names.includes(name));
  if (missing !== undefined) return toReason(expected, `the field ${missing}`);
  const schema = contextSchemaOf(machine);
  if (schema === undefined) return undefined;
  try {
    parseNow(schema, copyJson(context as Json), "the context");
    return undefined;
  } catch (thrown) {
    return toReason(expected, errorMessage(thrown));
  }
}

function toReason(expected: string, found: string): HoldReason {
  return {
    code: "snapshot_mismatch",
    message: `the machine cannot continue from its logged state: the log has ${expected}; the chart has ${found}`,
    expected,
    found,
  };
}

function hasChild(snapshot: unknown, [id = "", ...below]: readonly string[]): boolean {
  const { children } = snapshot as {
    readonly children?: Readonly<Record<string, { readonly snapshot?: unknown }>>;
  };
  if (children === undefined || !Object.hasOwn(children, id)) return false;
  return below.length === 0 || hasChild(children[id]?.snapshot ?? {}, below);
}

function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const state of Object.values(node.states)) yield* nodesOf(state as AnyStateNode);
}

/** The names in a context that is no function; one that is a function is not known before it runs. */
function contextNames(machine: AnyStateMachine): readonly string[] {
  const context: unknown = machine.config.context;
  if (!isObject(context)) return [];
  return Object.keys(context)
    .filter((name) => context[name] !== undefined)
    .toSorted();
}

/** The schema that a machine's `schemas` has for its context. */
function contextSchemaOf({ schemas }: AnyStateMachine) {
  const schema = isObject(schemas) ? schemas["context"] : undefined;
  return isSchema(schema) ? schema : undefined;
}
