import { NOTHING_SPENT } from "../../ports/spending.ts";
import type { Spent } from "../../ports/spending.ts";
import type { SenderRef } from "../../protocol/actors.ts";
import type { HeldTurn } from "../../protocol/answers/status.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { isRoot } from "../journal/call-id.ts";
import type { RecordPosition } from "../../ports/log-batch.ts";
import type { TurnError, Usage } from "../../protocol/events/outcome-codes.ts";
import type { AcceptedRequest, ContinuedRecord, RecordBody } from "../journal/records.ts";
import { published, watched } from "../agent/watchers.ts";
import type { Newest, WatchingActor } from "../agent/watchers.ts";
import type { PromptMark } from "./prompts.ts";

/** The state of a run: plain data that is a function of the run's log. */
export interface RunState {
  /** The number of started turns. */
  readonly turns: number;
  /** The incomplete requests, in the order of their acceptance. */
  readonly open: readonly OpenRequest[];
  /** The memory of each agent in the run. */
  readonly memory: JsonObject;
  readonly config: RunConfig | null;
  /** The newest changes of the configuration, by id; absent if there was none. */
  readonly configured?: readonly string[];
  /** The messages that no turn has read, oldest first; absent if there was never one. */
  readonly unread?: readonly UnreadMessage[];
  /** The newest prompt of each requested agent, which the next one continues; absent if there was none. */
  readonly prompts?: { readonly [agent: string]: PromptMark };
  /** The schedule that the definition of its agent has for it, and its start in milliseconds since 1970; absent if it has none. */
  readonly scheduled?: { readonly text: string; readonly since: number };
  /** The actors that are told what happens in the run; absent if there was never one. */
  readonly watchers?: readonly WatchingActor[];
  /** The newest publications of a topic, one of each name; absent if there was none. */
  readonly newest?: readonly Newest[];
  /** When requests were restarted, in milliseconds since 1970, as far as a supervisor may still count that. */
  readonly restarts?: readonly number[];
  /** Why the actor takes no requests, if its supervisor has stopped it. */
  readonly stopped?: StoppedActor | undefined;
  /** By how much the budget of the run was raised; absent if it never was. */
  readonly raised?: Pick<Spent, "tokens" | "cost">;
  /** The run in which the actor continues; absent if the run was not renewed. */
  readonly renewedTo?: RunId;
}

/** An actor that takes no requests, because its supervisor has stopped it. */
export interface StoppedActor {
  /** ISO 8601, UTC. */
  readonly since: string;
  readonly error: TurnError;
}

/** A message that no turn has read, without its body, because the state is stored again and again. */
export interface UnreadMessage {
  /** The id of its event. */
  readonly id: number;
  readonly name: string;
  /** The size of its event. */
  readonly bytes: number;
}

/** A message by which an actor begins or ends to watch the run. */
export interface WatchMessage {
  readonly type: "WatchReceived";
  readonly id: number;
  readonly sender: SenderRef | undefined;
  readonly body: Json;
}

/** An incomplete request. */
export interface OpenRequest {
  readonly accepted: AcceptedRequest;
  /** The number of its turn in the run; absent while it is queued. */
  readonly turn?: number;
  /** The configuration at its start. */
  readonly config?: RunConfig | null;
  /** Where its turn began, if that is not at the start of the request; absent for the first turn of a request. */
  readonly base?: TurnBase;
  /** The starts that count against it since it last made progress. */
  readonly recoveries: number;
  /** How often the process has died since then. */
  readonly deaths?: number;
  /** The number of turns, with this one, that ran after its last continuation; 0 = unlimited. */
  readonly among?: number;
  /** Whether the process closed properly after its last start, or the turn only waited. */
  readonly released?: boolean;
  /** Whether it is held back before a trial. */
  readonly held?: boolean;
  /** How it ends when its cleanup steps have run, if they run. */
  readonly canceling?: CancelingTurn | undefined;
  /** How often it was restarted after a failure; absent for never. */
  readonly restarts?: number;
  /** Why no served code can continue it, if so. */
  readonly hold?: HeldTurn | undefined;
}

/** The end of a turn whose cleanup steps run before it. */
export interface CancelingTurn {
  /** The id of its RequestCanceling. */
  readonly id: number;
  readonly finishReason: "canceled" | "error";
  readonly error?: TurnError;
}

/** The place from which the journal of a turn is read, and what is known of the time before it. */
export interface TurnBase {
  readonly at: RecordPosition;
  /** The record with what is needed of the turn before the place; absent if that is nothing. */
  readonly kept?: RecordPosition;
  /** The version of the agent at the start of the turn. */
  readonly agentVersion?: string;
  /** Whether the turn was begun in a run that this one was forked from. */
  readonly isForked?: boolean;
  /** The usage of the turns before. */
  readonly usage?: Usage;
}

/** The configuration of a run, and how often it was changed. */
export interface RunConfig {
  readonly version: number;
  readonly args: JsonObject;
}

/** A change of the state of a run. */
export type RunStateChange =
  | RecordBody
  | ({ readonly type: "MessageReceived" } & UnreadMessage)
  | WatchMessage
  | ({ readonly type: "Published" } & Newest)
  /** The schedules of a run are in the index of the log. */
  | { readonly type: "ScheduleReceived" }
  /** A completion was asked something, which is recorded. */
  | { readonly type: "Prompted"; readonly prompt: PromptMark }
  | { readonly type: "RequestStarted"; readonly requestId: RequestId }
  | { readonly type: "TurnContinued"; readonly record: ContinuedRecord; readonly at: RecordPosition }
  | { readonly type: "TurnKept"; readonly requestId: RequestId; readonly base: TurnBase }
  | { readonly type: "RequestCompleted"; readonly requestId: RequestId }
  | { readonly type: "RequestHeld"; readonly requestId: RequestId; readonly hold: HeldTurn }
  | { readonly type: "RequestContinued"; readonly requestId: RequestId }
  | { readonly type: "RequestCanceling"; readonly requestId: RequestId; readonly canceling: CancelingTurn }
  | { readonly type: "ActorStopped"; readonly stopped: StoppedActor }
  | { readonly type: "ActorResumed" }
  | { readonly type: "Renewed"; readonly to: RunId }
  /** The turn made progress: a result or a text was committed after a recovery. */
  | { readonly type: "Progress"; readonly requestId: RequestId };

/** The state of a new run. */
export const initialRunState: RunState = { turns: 0, open: [], memory: {}, config: null };

/** How many restarts of a run are remembered: as many as a supervisor can allow. */
const RESTARTS = 100;

/** The number of changes of the configuration that are recognized when they arrive again. */
const CHANGES = 16;

/** The crash history of a turn that makes progress. */
const UNSUSPECTED = { recoveries: 0, deaths: 0, among: 0, held: false } as const;

const STARTED = { released: false, held: false } as const;

/** Applies a change. This is the only place where a run's state changes, live or when it is rebuilt. */
export function evolve(state: RunState, change: RunStateChange): RunState {
  switch (change.type) {
    case "Accepted":
      return { ...state, open: [...state.open, { accepted: change.accepted, recoveries: 0 }] };
    case "RequestStarted": {
      const turns = state.turns + 1;
      return {
        ...state,
        turns,
        open: patch(state.open, change.requestId, { turn: turns, config: state.config }),
      };
    }
    case "TurnKept":
      return { ...state, open: patch(state.open, change.requestId, { base: change.base }) };
    case "TurnContinued":
      return continued(state, change.record, change.at);
    case "RequestCompleted":
      return { ...state, open: state.open.filter(({ accepted }) => accepted.requestId !== change.requestId) };
    case "RequestHeld": {
      const before = state.open.find(({ accepted }) => accepted.requestId === change.requestId);
      // It is held from the first of several reasons on.
      const since = before?.hold?.since ?? change.hold.since;
      return { ...state, open: patch(state.open, change.requestId, { hold: { ...change.hold, since } }) };
    }
    case "RequestContinued":
      return { ...state, open: patch(state.open, change.requestId, { hold: undefined }) };
    case "RequestCanceling": {
      const { requestId, canceling } = change;
      return {
        ...state,
        open: patch(state.open, requestId, { ...UNSUSPECTED, released: false, canceling }),
      };
    }
    case "RecoveryStarted": {
      const { request_id: requestId, count: recoveries, deaths = 0, among = 0 } = change;
      return { ...state, open: patch(state.open, requestId, { recoveries, deaths, among, ...STARTED }) };
    }
    case "Held":
      return { ...state, open: patch(state.open, change.request_id, { held: change.over !== true }) };
    case "Accompanied":
      return { ...state, open: patch(state.open, change.request_id, { recoveries: 1, among: 0 }) };
    case "Released":
      return { ...state, open: patch(state.open, change.request_id, { ...UNSUSPECTED, released: true }) };
    case "Progress":
      return { ...state, open: patch(state.open, change.requestId, { ...UNSUSPECTED, released: false }) };
    case "MemoryCommitted":
      if (change.call_id !== undefined) return state;
      return { ...state, memory: { ...state.memory, [change.agent]: change.value } };
    case "ConfigRecorded":
      return {
        ...state,
        config: { version: change.version, args: change.args },
        ...(change.id !== undefined && {
          configured: [...(state.configured ?? []), change.id].slice(-CHANGES),
        }),
      };
    case "MessageReceived": {
      const { id, name, bytes } = change;
      return { ...state, unread: [...(state.unread ?? []), { id, name, bytes }] };
    }
    case "WatchReceived":
      return { ...state, watchers: watched(state.watchers ?? [], change) };
    case "Watchers":
      return { ...state, watchers: change.watchers };
    case "Published":
      return { ...state, newest: published(state.newest ?? [], { name: change.name, id: change.id }) };
    case "Dropped":
    case "Received": {
      if (change.ids.length === 0) return state;
      const read = new Set(change.ids);
      return { ...state, unread: (state.unread ?? []).filter(({ id }) => !read.has(id)) };
    }
    case "Scheduled":
      return { ...state, scheduled: { text: change.text, since: change.since } };
    case "ActorStopped":
      return { ...state, stopped: change.stopped };
    case "ActorResumed":
      // It begins anew: what was before counts no more.
      return { ...state, stopped: undefined, restarts: [] };
    case "Renewed":
      return { ...state, renewedTo: change.to };
    case "Raised": {
      const { tokens, cost } = state.raised ?? NOTHING_SPENT;
      const { unit, amount } = change;
      return {
        ...state,
        raised: unit === "tokens" ? { tokens: tokens + amount, cost } : { tokens, cost: cost + amount },
      };
    }
    case "Forked":
      // The messages in the copied history belong to the run that was copied, and its watchers watch that one.
      return { ...state, turns: change.turns, unread: [], watchers: [], newest: [], stopped: undefined };
    case "Prompted": {
      const { agent, actor } = change.prompt;
      // Only the requested agent remembers what it was asked, from turn to turn.
      if (!isRoot(actor)) return state;
      return { ...state, prompts: { ...state.prompts, [agent]: change.prompt } };
    }
    case "ScheduleReceived":
    case "Checkpoint":
    case "Cleanup":
    case "CleanedUp":
    case "Continued":
    case "Sleep":
    case "Woke":
    case "Queued":
    case "Begun":
    case "Receive":
    case "Now":
    case "Random":
    case "Patched":
    case "All":
    case "Artifact":
    case "MachineState":
    case "MemoryTaken":
    case "Configured":
    case "RemoteCursor":
    case "Iterated":
    case "Prompt":
      return state;
    default: {
      const never: never = change;
      return never;
    }
  }
}

/** The request whose turn is running. */
export function startedOf({ open }: RunState): OpenRequest | undefined {
  return open.find(({ turn }) => turn !== undefined);
}

/** Converts the state to a snapshot. */
export function toSnapshot(state: RunState): Json {
  return state as unknown as Json;
}

/** Reads the state from a snapshot. */
export function fromSnapshot(data: Json): RunState {
  return data as unknown as RunState;
}

/** The state in which the next turn of a request begins: its request is that of the turn from then on. */
function continued(
  state: RunState,
  {
    request_id: requestId,
    operation,
    input,
    agent_version: agentVersion,
    usage,
    forked,
    restarted,
  }: ContinuedRecord,
  at: RecordPosition,
): RunState {
  const before = state.open.find(({ accepted }) => accepted.requestId === requestId);
  if (before === undefined) return state;
  const turns = state.turns + 1;
  const { input: _, ...request } = before.accepted.request;
  const accepted: AcceptedRequest =
    restarted === undefined
      ? { ...before.accepted, request: { ...request, type: "OperationRequest", operation, input } }
      : before.accepted;
  const base = {
    at,
    ...(agentVersion !== undefined && { agentVersion }),
    ...(usage && { usage }),
    ...(forked && { isForked: true }),
  };
  const { config } = state;
  return {
    ...state,
    turns,
    ...(restarted !== undefined && { restarts: [...(state.restarts ?? []), restarted].slice(-RESTARTS) }),
    open: patch(state.open, requestId, {
      ...UNSUSPECTED,
      ...(restarted !== undefined && { restarts: (before.restarts ?? 0) + 1, canceling: undefined }),
      released: false,
      accepted,
      turn: turns,
      config,
      base,
    }),
  };
}

function patch(
  open: readonly OpenRequest[],
  requestId: RequestId,
  fields: Partial<OpenRequest>,
): readonly OpenRequest[] {
  return open.map((request) =>
    request.accepted.requestId === requestId ? { ...request, ...fields } : request,
  );
}
