import { isInstance } from "../../errors.ts";
import type { CallMode, Callee, SupervisorStrategy } from "../../protocol/actors.ts";
import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Actor } from "./actor.ts";
import type { Agent, Effect } from "../agent/agent.ts";
import { CHAT } from "../agent/agent.ts";
import { isNotAccepted } from "../agent/accepted-operations.ts";
import { isInterruption, isPassedOn, modelCodeOf } from "./call-failure.ts";
import { toSummary } from "./answer.ts";
import { makeCall } from "../calls/attempts.ts";
import type { NewCall, RepeatPolicy, TimedCall } from "../calls/attempts.ts";
import { fail, finish } from "../calls/call-end.ts";
import type { RemoteActor } from "../agent/remote-port.ts";
import { noChat } from "../agent/resolve-operation.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import { errorMessage } from "../agent/error-message.ts";
import { RemoteFailure } from "../agent/remote-port.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import { endSubstituted } from "./substituted.ts";
import { inTrace } from "../turn/in-trace.ts";
import { toCallKey } from "../journal/call-id.ts";
import { toJson } from "../journal/json-limits.ts";
import type { RecordedEvent } from "../journal/recorder.ts";
import type { EffectContext } from "../agent/turn-api.ts";

/** A call of another agent. */
export interface NewAgentCall extends NewCall, TimedCall {
  readonly agent: Agent;
  readonly operationName: string;
  /** The operation and input; `undefined` for a chat that the agent cannot handle. */
  readonly asked: Invocation | undefined;
  /** The first attempt, if this call is a later one. */
  readonly retryOf: CallId | undefined;
  /** The actor of a remote agent that is asked or told. */
  readonly remoteActor?: RemoteActor;
}

/**
 * The name of a call in the log: the agent's own name, or the name under which its caller uses it; with the
 * operation's name unless it is a chat or the agent's only operation. Operations of a remote agent can
 * change, so they are always named.
 */
export function callName(
  { name, operations, remote }: Agent,
  operationName: string,
  usedAs: string = name,
): string {
  const isPlain = operationName === CHAT || (!remote && Object.keys(operations).length === 1);
  return isPlain ? usedAs : `${usedAs}.${operationName}`;
}

/** Which attempt of a retried call it is. */
export interface AttemptNumber {
  /** From 1. */
  readonly number: number;
  /** The first attempt, for a later one. */
  readonly retryOf: CallId | undefined;
}

/** An effect of the code of an actor. */
export interface EffectCall extends NewCall, TimedCall, AttemptNumber {
  readonly effect: Effect;
  readonly perform: (context: EffectContext) => unknown;
}

/** Calls an operation of another agent: creates its actor, one level deeper than the caller. */
export function callAgent(caller: Actor, call: NewAgentCall): OpenCall {
  const work = { stop(): void {} };
  const open = openCall(caller, call, "agent", () => work.stop());
  if (call.retryOf !== undefined) open.key = call.retryOf;
  // A tool has the configuration of the agent that calls it.
  if (call.agent.kind === "agent") open.config = caller.turn.configs.of(call);
  const { agent, remoteActor, retryOf } = call;
  const callee = toCallee(call);
  void makeCall(caller, {
    open,
    logged: call.logged,
    timeoutMs: call.timeoutMs,
    policy: repeatPolicyOf(call, caller),
    queue: agent.queue,
    record: (attempt, expiresAt) =>
      recordCall(caller, call, { callee, mode: remoteActor?.mode, attempt, expiresAt, retryOf }),
    perform: () => {
      if (!endSubstituted(caller, open, call, callee)) perform(caller, open, call, work);
    },
    fail: (code, message) => fail(caller, open, code, message),
  });
  return open;
}

/** Starts the actor of a call. `work.stop` stops it from then on. */
function perform(caller: Actor, open: OpenCall, call: NewAgentCall, work: { stop: () => void }): void {
  const { turn, depth } = caller;
  const { limits } = turn.context;
  if (turn.depth + depth + 1 > limits.depth) {
    fail(caller, open, "too_deep", `agent calls are nested more than ${limits.depth} deep`);
    return;
  }
  if (caller.standing(call.agent) > limits.selfCalls) {
    fail(caller, open, "too_deep", `${call.agent.name} calls itself more than ${limits.selfCalls} deep`);
    return;
  }
  if (call.agent.kind === "agent" && !turn.countAgentCall()) {
    // Ends the turn, because its code might otherwise continue to make calls.
    turn.fail("budget", `the turn made more than ${limits.agentCalls} agent calls`);
    return;
  }
  const { agent, asked, callId, operationName } = call;
  if (asked === undefined) {
    fail(caller, open, "invalid_input", noChat(agent));
    return;
  }
  const start = (): void => {
    const child = caller.child(agent, open);
    child.remoteActor = call.remoteActor;
    work.stop = child.start(asked, {
      done: (answer) => {
        stageMemory(child);
        // A chat that another operation has handled still gets a text as its result.
        const isLent = operationName === CHAT && asked.name !== CHAT;
        const value = isLent ? { output: answer.text ?? answer.summary } : answer.value;
        finish(caller, open, { value, summary: answer.summary }, child.files);
      },
      failed: (thrown, unfit) => {
        // An input that does not fit is the caller's fault, and the caller gets the whole reason.
        if (!unfit) report(caller, open, agent, thrown);
        fail(caller, open, codeOf(thrown, unfit), errorMessage(thrown));
      },
    });
  };
  if (agent.memory === "own") {
    start();
    return;
  }
  turn.quiescence.queue(open, true);
  const isAdmitted = turn.calls.shared.enter(callId, agent.name, (isNew) => {
    turn.quiescence.queue(open, false);
    if (!open.open) return;
    if (isNew) turn.recorder.record({ type: "MemoryTaken", agent: agent.name, call_id: callId });
    start();
  });
  if (!isAdmitted)
    fail(
      caller,
      open,
      "would_deadlock",
      `${agent.name} shares its memory of the run, and this call would wait for itself`,
    );
}

/** Runs an effect and journals its result. */
export function performEffect(caller: Actor, call: EffectCall): void {
  const { runId, requestId } = caller.turn;
  const { environment } = caller.turn.context;
  const abort = new AbortController();
  const address = { runId, requestId };
  const stop = (): void => environment.attribute(address, () => abort.abort());
  const open = openCall(caller, call, "effect", stop);
  const callee = { kind: "effect", name: call.name } as const;
  const { callId, retryOf, number } = call;
  void makeCall(caller, {
    open,
    logged: call.logged,
    timeoutMs: call.timeoutMs,
    policy: call.effect,
    record: (attempt, expiresAt) => recordCall(caller, call, { callee, attempt, expiresAt, retryOf }),
    async perform(attempt) {
      if (endSubstituted(caller, open, call, callee)) return;
      const key = toCallKey(runId, retryOf ?? callId);
      const context = { callId: key, attempt: number - 1 + attempt, signal: abort.signal };
      try {
        const run = (): unknown => inTrace(caller, callId, () => call.perform(context));
        const returned = await environment.attribute(address, run);
        const value = toJson(returned, `what ${call.name} returned`);
        finish(caller, open, { value, summary: toSummary(value) }, []);
      } catch (thrown) {
        report(caller, open, { kind: "effect", name: call.name }, thrown);
        fail(caller, open, "tool_error", errorMessage(thrown));
      }
    },
    fail: (code, message) => fail(caller, open, code, message),
  });
}

/** What the event that starts an attempt has besides the fields of the call. */
interface StartedAttempt {
  readonly callee: Callee;
  /** Present if an actor is asked or told. */
  readonly mode?: CallMode | undefined;
  readonly attempt: number;
  readonly expiresAt: string | undefined;
  /** The first attempt, if the call is a later one of a retried call. */
  readonly retryOf: CallId | undefined;
  /** What becomes of the request of an actor if its turn fails. */
  readonly supervise?: SupervisorStrategy;
}

/** Records the start of an attempt of a call. */
export function recordCall(
  { speaker, turn }: Actor,
  { callId, name, args }: NewCall,
  { callee, mode, attempt, expiresAt, retryOf, supervise }: StartedAttempt,
): RecordedEvent {
  return turn.recorder.event(speaker, {
    type: "ToolCall",
    function_name: name,
    args,
    tool_call_id: callId,
    callee,
    ...(mode !== undefined && { mode }),
    ...(attempt > 1 && { attempt }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(retryOf !== undefined && { retry_of: retryOf }),
    ...(supervise && { supervise }),
  });
}

/** Opens a call under an actor. */
export function openCall(
  caller: Actor,
  { callId, name }: NewCall,
  kind: OpenCall["kind"],
  abort: () => void,
): OpenCall {
  const { speaker, call: parent, turn } = caller;
  const open = new OpenCall({ callId, kind, name, speaker, parent, abort });
  turn.calls.opened(open);
  return open;
}

function repeatPolicyOf({ agent, callId }: NewAgentCall, { turn }: Actor): RepeatPolicy {
  // An actor's steps are journaled, so it continues after them.
  return agent.kind === "agent" || turn.journal.scopes.get(callId)?.items !== undefined
    ? "continue"
    : agent.effect;
}

/** The agent or tool that is called, as the ToolCall has it. */
export function toCallee({ agent, remoteActor }: Pick<NewAgentCall, "agent" | "remoteActor">): Callee {
  const { kind, name, remote, server } = agent;
  const { key, runId } = remoteActor ?? {};
  return {
    kind: remote ? "remote" : kind,
    name,
    ...(key !== undefined && { key }),
    ...(runId !== undefined && { run_id: runId }),
    ...(server !== undefined && { server }),
  };
}

function stageMemory({ turn, agent, call, memory }: Actor): void {
  const changed = memory.changed();
  if (changed === undefined || !call.open) return;
  const { name } = agent;
  turn.calls.shared.values.set(name, changed);
  turn.recorder.record({
    type: "MemoryCommitted",
    agent: name,
    value: changed,
    call_id: call.callId,
  });
}

/** Reports the error of a call, unless nothing waits for the call or the error is reported already. */
function report(
  caller: Actor,
  open: OpenCall,
  { kind, name }: { readonly kind: Agent["kind"] | "effect"; readonly name: string },
  thrown: unknown,
): void {
  if (!open.open || isPassedOn(thrown)) return;
  const { turn } = caller;
  const called = kind === "agent" ? { agent: name } : { agent: caller.agent.name, tool: name };
  const place = turn.place({ ...called, tool_call_id: open.callId });
  turn.context.telemetry.failed(`${kind} ${name} failed`, thrown, place);
}

function codeOf(thrown: unknown, unfit: boolean): ToolErrorCode {
  if (unfit) return "invalid_input";
  if (isInterruption(thrown)) return "interrupted";
  if (isNotAccepted(thrown)) return "not_accepted";
  return isInstance(thrown, RemoteFailure) ? thrown.toolCode : (modelCodeOf(thrown) ?? "tool_error");
}
