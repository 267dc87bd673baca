import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { Event } from "../../protocol/events/events.ts";
import { contentAt, countTexts, encodeTexts, fieldsOf } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import { isUnder } from "../../protocol/ids.ts";
import type { ArtifactId, CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { toPublished } from "../agent/result-file.ts";
import { branchedCall, callAbove, pathTo, scopeOf } from "../journal/call-id.ts";
import { namesOf } from "../journal/records.ts";
import type { MachineState } from "../journal/records.ts";
import { isActorCall } from "./actor-request.ts";
import type { PlacedRecord } from "./entries.ts";
import { KEPT_ANSWERS } from "./kept-journal.ts";
import type { KeptJournal, KeptScope } from "./kept-journal.ts";
import { MessageBodies } from "./message-bodies.ts";
import { toPromptMark } from "./prompts.ts";
import {
  actorSignature,
  allSignature,
  CLEANUP,
  artifactSignature,
  callSignature,
  COMPLETION,
  NOW,
  patchSignature,
  RANDOM,
  unreadSignature,
  receiveSignature,
  sleepSignature,
  waitSignature,
} from "./signature.ts";
import type { Signature } from "./signature.ts";
import type { TurnBase } from "./run-state.ts";
import { Transcript } from "./transcript.ts";
import {
  INTERRUPTED,
  isInterrupted,
  addUsage,
  CallRecord,
  CANCELED_CALL,
  EXPIRED,
  spare,
} from "./turn-journal.ts";
import type {
  CallDelivery,
  ScopeItem,
  LoggedCall,
  Outcome,
  ScopeRecord,
  TurnJournal,
} from "./turn-journal.ts";

/** Builds a turn's journal from the entries of its run's log. */
export class JournalBuilder {
  readonly #root: string;
  readonly #calls = new Map<CallId, CallRecord>();
  readonly #scopes = new Map<string, ScopeRecord>();
  readonly #deliveries: CallDelivery[] = [];
  /** The calls that were attempted after the last start and have no outcome. */
  readonly #tried = new Set<CallRecord>();
  /** The waits by the ids of their events. */
  readonly #waits = new Map<number, CallRecord>();
  readonly #artifacts = new Map<ArtifactId, CallRecord>();
  readonly #cleanups = new Map<CallId, CallRecord>();
  readonly #staged = new Map<string, Json>();
  readonly #holders = new Map<string, CallId>();
  /** The newest configuration of each called agent. */
  readonly #configs = new Map<string, JsonObject>();
  readonly #resumeIds = new Set<string>();
  #isIterated = false;
  #lastResume = 0;
  #usage: Usage = {};
  #agentVersion: string | undefined;
  #isForked: boolean;
  readonly #bodies: MessageBodies;

  /** `root` is the scope of the turn's own handler. */
  constructor(
    root: string,
    bodies: MessageBodies = new MessageBodies(),
    base?: TurnBase,
    kept?: KeptJournal,
  ) {
    this.#root = root;
    this.#bodies = bodies;
    this.#agentVersion = base?.agentVersion;
    this.#isForked = base?.isForked ?? false;
    this.#usage = base?.usage ?? {};
    if (kept) this.#restore(kept);
  }

  /** Adds the next event of the turn. */
  event(text: string): void {
    this.#event(JSON.parse(text) as Event);
  }

  /** Adds the next texts of the turn. */
  texts(texts: Texts): void {
    const { parent_call_id: parent } = texts.speaker.address;
    if (this.#isIterated && parent !== undefined) {
      for (const text of encodeTexts(texts)) this.event(text);
      return;
    }
    const { branch, call_id: completion } = fieldsOf(texts);
    for (let index = 0; index < countTexts(texts); index += 1)
      this.#say(contentAt(texts, index), parent ?? this.#root, branch, completion);
  }

  /** Adds the next record of the run. */
  record(record: PlacedRecord): void {
    switch (record.type) {
      case "RecoveryStarted":
        if (record.spared) spare(this.#tried);
        this.#tried.clear();
        return;
      case "Sleep": {
        const call = this.#callOf(record.call_id);
        // A second record of a sleep has its new end only.
        if (call.wakeAt === undefined) this.#step(record.call_id, sleepSignature(record.ms));
        call.wakeAt = record.until;
        return;
      }
      case "Woke":
        this.#settle(record.call_id, record.canceled ? CANCELED_CALL : { ok: true, value: null });
        return;
      case "Cleanup":
        this.#step(record.call_id, CLEANUP);
        this.#cleanups.set(record.call_id, this.#callOf(record.call_id));
        return;
      case "CleanedUp": {
        const { call_id: callId, type: _type, n: _n, after: _after, ...value } = record;
        // No code waits for it.
        this.#callOf(callId).outcome = { ok: true, value };
        return;
      }
      case "Receive": {
        const call = this.#callOf(record.call_id);
        // A second record of a call has its new end only.
        if (call.messages === undefined) this.#step(record.call_id, receiveSignature(record));
        call.messages = namesOf(record);
        if (record.until !== undefined) call.wakeAt = record.until;
        return;
      }
      case "Received": {
        const { call_id: callId, name, from, first } = record;
        // A request that joins the turn has a journal of its own, which would take the body from this one.
        if (!isUnder(callId, this.#root)) return;
        if (first !== undefined) return this.#settle(callId, { ok: true, value: { first } });
        const value = this.#bodies.of(record.ids);
        if (name !== undefined) return this.#step(callId, unreadSignature(name), value);
        if (from !== undefined) value.push(from);
        return this.#settle(callId, { ok: true, value });
      }
      case "Queued": {
        const call = this.#callOf(record.call_id);
        call.isQueued = true;
        this.#tried.delete(call);
        return;
      }
      case "Begun": {
        const call = this.#callOf(record.call_id);
        call.isQueued = false;
        if (record.expires_at !== undefined) call.deadline = Date.parse(record.expires_at);
        this.#tried.add(call);
        return;
      }
      case "Now":
        this.#item(record.scope, { signature: NOW, value: record.value });
        return;
      case "Random":
        this.#item(record.scope, { signature: RANDOM, value: record.value });
        return;
      case "Patched":
        this.#item(record.scope, { signature: patchSignature(record.id) });
        return;
      case "All":
        this.#step(record.call_id, allSignature(record.branches));
        return;
      case "Artifact":
        this.#step(record.call_id, artifactSignature(record.name, record.mime_type), record.artifact_id);
        this.#artifacts.set(record.artifact_id, this.#callOf(record.call_id));
        return;
      case "MachineState":
        this.#scopeOf(record.scope).machine = record.state;
        return;
      case "Iterated":
        this.#callOf(record.call_id).isIterated = true;
        this.#isIterated = true;
        return;
      case "RemoteCursor":
        this.#scopeOf(record.scope).remote = { agent: record.agent, state: record.state };
        return;
      case "MemoryCommitted":
        if (record.call_id !== undefined) this.#staged.set(record.agent, record.value);
        return;
      case "Configured":
        if (record.args) this.#configs.set(record.agent, record.args);
        this.#callOf(record.call_id).config = this.#configs.get(record.agent) ?? {};
        return;
      case "Prompt":
        this.#scopeOf(record.actor).prompt = toPromptMark(record, record);
        return;
      case "MemoryTaken":
        this.#holders.set(record.agent, record.call_id);
        return;
      default:
        return;
    }
  }

  /**
   * What of the entries so far is needed to continue the turn. A machine continues from its state, so the steps of its
   * sequence and the calls that it does not wait for are left out.
   */
  kept(): KeptJournal {
    const calls = [...this.#calls.values()].filter(({ callId, outcome, wait }) =>
      outcome === undefined && wait === undefined ? true : !this.#isPast(callId),
    );
    const callIds = new Set(calls.map(({ callId }) => callId));
    const scopes = [...this.#scopes].filter(
      ([path]) => path === this.#root || callIds.has(path as CallId) || !this.#isScopePast(path),
    );
    return {
      calls,
      tried: [...this.#tried].map(({ callId }) => callId),
      scopes: scopes.map(([path, scope]) => [path, toKeptScope(scope)]),
      deliveries: this.#deliveries.filter(({ callId }) => !this.#isPast(callId)),
      artifacts: [...this.#artifacts]
        .filter(([, { callId }]) => callIds.has(callId))
        .map(([artifactId, { callId }]) => [artifactId, callId]),
      staged: [...this.#staged],
      holders: [...this.#holders],
      configs: [...this.#configs],
      resumeIds: [...this.#resumeIds].slice(-KEPT_ANSWERS),
      isIterated: this.#isIterated,
      lastResume: this.#lastResume,
      usage: this.#usage,
      ...(this.#agentVersion !== undefined && { agentVersion: this.#agentVersion }),
      ...(this.#isForked && { isForked: true }),
    };
  }

  #restore(kept: KeptJournal): void {
    for (const fields of kept.calls) {
      const call = Object.assign(new CallRecord(fields.callId), fields);
      this.#calls.set(call.callId, call);
      if (call.wait) this.#waits.set(call.wait.waitId, call);
    }
    for (const callId of kept.tried) this.#tried.add(this.#callOf(callId));
    for (const [path, { transcript, items, ...scope }] of kept.scopes)
      this.#scopes.set(path, {
        ...scope,
        // The replay releases the steps that it has made.
        ...(items && { items: [...items] }),
        ...(transcript && { transcript: Transcript.from(transcript) }),
      });
    this.#deliveries.push(...kept.deliveries);
    for (const [artifactId, callId] of kept.artifacts) this.#artifacts.set(artifactId, this.#callOf(callId));
    for (const [agent, value] of kept.staged) this.#staged.set(agent, value);
    for (const [agent, callId] of kept.holders) this.#holders.set(agent, callId);
    for (const [agent, config] of kept.configs) this.#configs.set(agent, config);
    for (const resumeId of kept.resumeIds) this.#resumeIds.add(resumeId);
    this.#isIterated = kept.isIterated;
    this.#lastResume = kept.lastResume;
    this.#usage = kept.usage;
    this.#agentVersion = kept.agentVersion;
    this.#isForked = kept.isForked ?? false;
  }

  journal(): TurnJournal {
    const calls = [...this.#calls.values()];
    return {
      isNew: false,
      calls: this.#calls,
      open: calls.filter(
        ({ callId, wait, outcome }) => outcome === undefined && (wait === undefined || !this.#isPast(callId)),
      ),
      tried: [...this.#tried],
      scopes: this.#scopes,
      cleanups: [...this.#cleanups.values()],
      steps: this.#steps(),
      deliveries: this.#deliveries.filter(({ callId }) => !this.#isPast(callId)),
      usage: this.#usage,
      staged: this.#staged,
      holders: this.#holders,
      lastResume: this.#lastResume,
      resumeIds: this.#resumeIds,
      agentVersion: this.#agentVersion,
      isForked: this.#isForked,
    };
  }

  #event(event: Event): void {
    if (this.#isIterated && event.parent_call_id !== undefined) {
      for (const callId of pathTo(event.parent_call_id) as readonly CallId[])
        if (this.#calls.get(callId)?.isIterated === true) this.#deliveries.push({ callId, event });
    }
    const spoken = (): string => event.parent_call_id ?? this.#root;
    switch (event.type) {
      case "TextOutput":
      case "ToolTextOutput":
        this.#text(event, spoken());
        return;
      case "ArtifactGenerated": {
        const call = this.#artifacts.get(event.artifact_id);
        if (call !== undefined) this.#settle(call.callId, { ok: true, value: { ...toPublished(event) } });
        return;
      }
      case "ToolCall": {
        // It is a part of its completion, whose result has all that code gets.
        if (event.provider_executed) return;
        const call = this.#try(event.tool_call_id, event.attempt ?? 1, event.expires_at);
        if ((event.attempt ?? 1) > 1) return;
        call.made = toLoggedCall(event);
        this.#step(event.tool_call_id, toCallSignature(event));
        return;
      }
      case "CompletionCall": {
        const before = this.#callOf(event.call_id);
        if (isInterrupted(before)) before.spent = addUsage(before.spent, INTERRUPTED);
        const call = this.#try(event.call_id, event.attempt, event.expires_at);
        call.triedAt ??= Date.parse(event.ts);
        call.retryAt = undefined;
        this.#scopes.get(spoken())?.transcript?.retract(event.call_id);
        if (event.attempt > 1) return;
        this.#step(event.call_id, COMPLETION);
        return;
      }
      case "CompletionRetry": {
        const call = this.#callOf(event.call_id);
        call.failed = event.attempt;
        call.spent = addUsage(call.spent, event.usage ?? {});
        call.spared = 0;
        call.retryAt = Date.parse(event.until ?? event.ts);
        this.#tried.delete(call);
        return;
      }
      case "ToolResult":
        if (event.provider_executed) return;
        this.#settle(event.tool_call_id, {
          ok: true,
          value: event.result,
          text: event.text_result,
          ...(event.files && { files: event.files.map(toPublished) }),
        });
        return;
      case "ToolError":
        if (event.provider_executed) return;
        this.#settle(event.tool_call_id, { ok: false, code: event.code, message: event.content });
        return;
      case "CompletionResult":
        this.#usage = addUsage(this.#usage, event.usage);
        this.#settle(
          event.call_id,
          event.error === undefined
            ? { ok: true, value: event.result }
            : { ok: false, code: event.error_code ?? "model_error", message: event.error },
        );
        return;
      case "WaitForInput": {
        const {
          id: waitId,
          call_id: callId,
          request_keys: questions,
          expires_at: until,
          approvers,
          budget,
        } = event;
        // The runtime asks about a budget: the code has made no step, and the time limit of its completion begins later.
        if (budget === undefined) this.#step(callId, waitSignature(questions));
        else this.#callOf(scopeOf(callId)).deadline = undefined;
        const expiresAt = until === undefined ? {} : { expiresAt: Date.parse(until) };
        const call = this.#callOf(callId);
        call.wait = {
          waitId,
          callId,
          questions,
          ...(approvers && { approvers }),
          ...(budget && { budget }),
          ...expiresAt,
        };
        this.#waits.set(waitId, call);
        return;
      }
      case "ResumeWithInput":
        if (event.resume_id !== undefined) this.#resumeIds.add(event.resume_id);
        this.#resume(event.id, event.wait_id, { ok: true, value: event.request_keys });
        return;
      case "WaitExpired":
        this.#resume(event.id, event.wait_id, EXPIRED);
        return;
      case "RequestStarted":
        this.#agentVersion = event.agent_version;
        this.#isForked = event.forked_from !== undefined;
        return;
      default:
        return;
    }
  }

  #text(event: Event & { readonly type: "TextOutput" | "ToolTextOutput" }, actor: string): void {
    const completion = event.type === "TextOutput" ? event.call_id : undefined;
    // Progress comes from outside, so a replay cannot be expected to repeat it.
    if (event.type === "ToolTextOutput" && event.progress) return;
    this.#say(event.content, actor, event.branch, completion);
  }

  #say(content: string, actor: string, branch = actor, completion?: CallId): void {
    const scope = this.#scopeOf(actor);
    (scope.transcript ??= new Transcript()).add(content, completion);
    // Text that a model streams belongs to its completion.
    if (completion === undefined) this.#item(branch, content);
  }

  #step(callId: CallId, signature: string, value?: Json): void {
    this.#item(scopeOf(callId), { signature, ...(value !== undefined && { value }) });
  }

  #item(path: string, item: ScopeItem): void {
    const scope = this.#scopeOf(path);
    if (scope.items === undefined) scope.items = [item];
    else scope.items.push(item);
  }

  #try(callId: CallId, attempt: number, expiresAt: string | undefined): CallRecord {
    const call = this.#callOf(callId);
    call.attempts = attempt;
    call.isQueued = false;
    if (expiresAt !== undefined) call.deadline = Date.parse(expiresAt);
    this.#tried.add(call);
    return call;
  }

  #resume(id: number, waitId: number, outcome: Outcome): void {
    this.#lastResume = id;
    const call = this.#waits.get(waitId);
    if (call) this.#settle(call.callId, outcome);
  }

  #settle(callId: CallId, outcome: Outcome): void {
    const call = this.#callOf(callId);
    call.outcome = outcome;
    this.#tried.delete(call);
    for (const [agent, holder] of this.#holders) if (holder === callId) this.#holders.delete(agent);
    if (call.wait?.budget === undefined) this.#deliveries.push({ callId, outcome });
  }

  #callOf(callId: CallId): CallRecord {
    let call = this.#calls.get(callId);
    if (call === undefined) {
      call = new CallRecord(callId);
      this.#calls.set(callId, call);
    }
    return call;
  }

  #scopeOf(path: string): ScopeRecord {
    let scope = this.#scopes.get(path);
    if (scope === undefined) {
      scope = {};
      this.#scopes.set(path, scope);
    }
    return scope;
  }

  /** The number of steps that replayed code makes again, by their sequence. A machine continues from its state instead. */
  #steps(): ReadonlyMap<string, number> {
    const steps = new Map<string, number>();
    for (const [path, { items, machine, remote }] of this.#scopes) {
      if (items === undefined || machine !== undefined || remote !== undefined) continue;
      if (path === this.#root || !this.#isScopePast(path)) steps.set(path, items.length);
    }
    return steps;
  }

  /** Whether the sequence of a call or a branch never runs again. */
  #isScopePast(path: string): boolean {
    const callId = branchedCall(path) ?? path;
    return this.#calls.get(callId)?.outcome !== undefined || this.#isPast(callId);
  }

  /** Whether replayed code will never make a call again, so that the log entries of the call are skipped. */
  #isPast(callId: CallId): boolean {
    if (this.#isUnderEnded(callId)) return true;
    const cleanup = this.#cleanups.get(callId);
    if (cleanup) return cleanup.outcome !== undefined;
    const path = scopeOf(callId);
    // A call in a branch is past if the call of the branch is: the record of a machine has only the latter.
    const branched = branchedCall(path);
    if (branched !== undefined) return this.#isPast(branched);
    const { machine, remote } = this.#scopes.get(path) ?? {};
    if (machine) return !hasOpen(machine, callId);
    return remote !== undefined && !remote.state.waits.includes(callId);
  }

  /** Whether a call that contains this one has ended, so that nothing under it runs again. */
  #isUnderEnded(callId: CallId): boolean {
    for (let above = callAbove(callId); above !== undefined; above = callAbove(above)) {
      if (this.#calls.get(above)?.outcome !== undefined) return true;
    }
    return false;
  }
}

/** A sequence as plain data; of a machine only the number of its steps. */
function toKeptScope({ transcript, items, skipped = 0, ...scope }: ScopeRecord): KeptScope {
  const said = transcript && { transcript: transcript.kept };
  if (scope.machine) return { ...scope, ...said, skipped: skipped + (items?.length ?? 0) };
  return { ...scope, ...said, ...(items && { items: [...items] }), ...(skipped > 0 && { skipped }) };
}

function hasOpen({ waits, timers, promises }: MachineState, callId: CallId): boolean {
  return (
    Object.values(waits).includes(callId) ||
    Object.values(promises).includes(callId) ||
    timers.some((timer) => timer.callId === callId)
  );
}

function toLoggedCall(event: Event & { readonly type: "ToolCall" }): LoggedCall {
  return {
    name: event.function_name,
    agent: event.agent,
    depth: event.depth,
    ...(event.parent_call_id !== undefined && { parentCallId: event.parent_call_id }),
    ...(isActorCall(event) && { sent: event }),
  };
}

function toCallSignature(event: Event & { readonly type: "ToolCall" }): Signature {
  const signature = callSignature(event.function_name, event.args);
  const { mode, callee } = event;
  return mode && callee ? actorSignature(mode, callee, signature) : signature;
}
