import type { Event, Usage } from "../../protocol/events/events.ts";
import { contentAt, countTexts, encodeTexts, fieldsOf } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { ArtifactId, CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { pathTo, scopeOf } from "../journal/call-id.ts";
import type {
  Delivery,
  Outcome,
  Item,
  TurnJournal,
  LoggedCall,
  LoggedRemoteWork,
  Wait,
} from "./turn-journal.ts";
import { isPastCall } from "./past-calls.ts";
import type { MachineState } from "../journal/records.ts";
import type { PlacedRecord } from "./entries.ts";
import { MessageBodies } from "./message-bodies.ts";
import { toPromptMark } from "./prompts.ts";
import type { PromptMark } from "./prompts.ts";
import { Transcript } from "./transcript.ts";
import { isActorCall } from "./actor-request.ts";
import {
  actorSignature,
  allSignature,
  artifactSignature,
  callSignature,
  COMPLETION,
  NOW,
  RANDOM,
  receivedSignature,
  receiveSignature,
  sleepSignature,
  waitSignature,
} from "./signature.ts";
import type { Signature } from "./signature.ts";
import { addSpared, addUsage, CANCELED_CALL, EXPIRED } from "./turn-journal.ts";
import { LazyMap, LazySet } from "../lazy.ts";

/** Builds a turn's journal from the entries of its run's log. */
export class JournalBuilder {
  readonly #root: string;
  readonly #items = new LazyMap<string, Item[]>();
  readonly #order: Delivery[] = [];
  readonly #outcomes = new LazyMap<CallId, Outcome>();
  readonly #attempts = new LazyMap<CallId, number>();
  #spared: ReadonlyMap<CallId, number> = NONE_SPARED;
  readonly #tried = new LazySet<CallId>();
  readonly #queued = new LazySet<CallId>();
  readonly #wakeTimes = new LazyMap<CallId, number>();
  readonly #deadlines = new LazyMap<CallId, number>();
  readonly #receives = new LazyMap<CallId, string>();
  readonly #openCalls = new LazyMap<CallId, LoggedCall>();
  readonly #waits = new LazyMap<CallId, Wait>();
  readonly #callOfWait = new LazyMap<number, CallId>();
  readonly #callOfArtifact = new LazyMap<ArtifactId, CallId>();
  readonly #transcripts = new LazyMap<string, Transcript>();
  readonly #staged = new LazyMap<string, Json>();
  readonly #holders = new LazyMap<string, CallId>();
  readonly #configs = new LazyMap<CallId, JsonObject>();
  readonly #configOf = new LazyMap<string, JsonObject>();
  readonly #machines = new LazyMap<string, MachineState>();
  readonly #remote = new LazyMap<string, LoggedRemoteWork>();
  readonly #prompts = new LazyMap<CallId, PromptMark>();
  readonly #iterated = new LazySet<CallId>();
  readonly #resumeIds = new LazySet<string>();
  #lastResume = 0;
  #canceled = false;
  #usage: Usage = {};
  #agentVersion: string | undefined;

  readonly #bodies: MessageBodies;

  /** `root` is the scope of the turn's own handler. */
  constructor(root: string, bodies: MessageBodies = new MessageBodies()) {
    this.#root = root;
    this.#bodies = bodies;
  }

  /** Adds the next event of the turn. */
  event(text: string): void {
    this.#event(JSON.parse(text) as Event);
  }

  /** Adds the next texts of the turn. */
  texts(texts: Texts): void {
    const { parent_call_id: parent } = texts.speaker.address;
    if (this.#iterated.size > 0 && parent !== undefined) {
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
        if (record.spared) this.#spared = addSpared(this.#spared, this.#tried.readonly);
        this.#tried.clear();
        return;
      case "Sleep":
        // A second record of a sleep has its new end only.
        if (!this.#wakeTimes.has(record.call_id)) this.#call(record.call_id, sleepSignature(record.ms));
        this.#wakeTimes.set(record.call_id, record.until);
        return;
      case "Woke":
        this.#settle(record.call_id, record.canceled ? CANCELED_CALL : { ok: true, value: null });
        return;
      case "Receive":
        // A second record of a call has its new end only.
        if (!this.#receives.has(record.call_id)) this.#call(record.call_id, receiveSignature(record.name));
        this.#receives.set(record.call_id, record.name);
        if (record.until !== undefined) this.#wakeTimes.set(record.call_id, record.until);
        return;
      case "Received": {
        const { call_id: callId, name } = record;
        const value = this.#bodies.of(record.ids);
        if (name !== undefined) return this.#call(callId, receivedSignature(name), value);
        this.#receives.delete(callId);
        return this.#settle(callId, { ok: true, value });
      }
      case "Queued":
        this.#queued.add(record.call_id);
        this.#tried.delete(record.call_id);
        return;
      case "Begun":
        this.#queued.delete(record.call_id);
        this.#tried.add(record.call_id);
        return;
      case "Now":
        this.#item(record.scope, { signature: NOW, value: record.value });
        return;
      case "Random":
        this.#item(record.scope, { signature: RANDOM, value: record.value });
        return;
      case "All":
        this.#call(record.call_id, allSignature(record.branches));
        return;
      case "Artifact":
        this.#call(record.call_id, artifactSignature(record.name, record.mime_type), record.artifact_id);
        this.#callOfArtifact.set(record.artifact_id, record.call_id);
        return;
      case "MachineState":
        this.#machines.set(record.scope, record.state);
        return;
      case "Iterated":
        this.#iterated.add(record.call_id);
        return;
      case "RemoteCursor":
        this.#remote.set(record.scope, { agent: record.agent, state: record.state });
        return;
      case "MemoryCommitted":
        if (record.call_id !== undefined) this.#staged.set(record.agent, record.value);
        return;
      case "Configured":
        if (record.args) this.#configOf.set(record.agent, record.args);
        this.#configs.set(record.call_id, this.#configOf.get(record.agent) ?? {});
        return;
      case "Prompt":
        this.#prompts.set(record.actor, toPromptMark(record, record));
        return;
      case "MemoryTaken":
        this.#holders.set(record.agent, record.call_id);
        return;
      default:
        return;
    }
  }

  journal(): TurnJournal {
    const outcomes = this.#outcomes.readonly;
    const machines = this.#machines.readonly;
    const remote = this.#remote.readonly;
    const logged = { outcomes, machines, remote };
    const isPast = (callId: CallId): boolean => isPastCall(callId, logged);
    const waits = new LazyMap<CallId, Wait>();
    for (const [callId, wait] of this.#waits) if (!isPast(callId)) waits.set(callId, wait);
    return {
      isNew: false,
      items: this.#items.readonly,
      deliveries: this.#order.filter(({ callId }) => !isPast(callId)),
      outcomes,
      attempts: this.#attempts.readonly,
      spared: this.#spared,
      tried: this.#tried.readonly,
      queued: this.#queued.readonly,
      wakeTimes: this.#wakeTimes.readonly,
      deadlines: this.#deadlines.readonly,
      receives: this.#receives.readonly,
      waits: waits.readonly,
      openCalls: this.#openCalls.readonly,
      transcripts: this.#transcripts.readonly,
      usage: this.#usage,
      staged: this.#staged.readonly,
      holders: this.#holders.readonly,
      configs: this.#configs.readonly,
      machines,
      remote,
      prompts: this.#prompts.readonly,
      iterated: this.#iterated.readonly,
      lastResume: this.#lastResume,
      resumeIds: this.#resumeIds.readonly,
      canceled: this.#canceled,
      agentVersion: this.#agentVersion,
    };
  }

  #event(event: Event): void {
    if (this.#iterated.size > 0 && event.parent_call_id !== undefined) {
      for (const callId of pathTo(event.parent_call_id) as readonly CallId[])
        if (this.#iterated.has(callId)) this.#order.push({ callId, event });
    }
    const spoken = (): string => event.parent_call_id ?? this.#root;
    switch (event.type) {
      case "TextOutput":
      case "ToolTextOutput":
        this.#text(event, spoken());
        return;
      case "ArtifactGenerated": {
        const { name, mime_type, artifact_id, url } = event;
        const callId = this.#callOfArtifact.get(artifact_id);
        if (callId === undefined) return;
        this.#settle(callId, {
          ok: true,
          value: { artifactId: artifact_id, name, mimeType: mime_type, url },
        });
        return;
      }
      case "ToolCall":
        this.#try(event.tool_call_id, event.attempt ?? 1, event.expires_at);
        if ((event.attempt ?? 1) > 1) return;
        this.#openCalls.set(event.tool_call_id, {
          callId: event.tool_call_id,
          name: event.function_name,
          agent: event.agent,
          depth: event.depth,
          ...(event.parent_call_id !== undefined && { parentCallId: event.parent_call_id }),
          ...(isActorCall(event) && { sent: event }),
        });
        this.#call(event.tool_call_id, toCallSignature(event));
        return;
      case "CompletionCall":
        this.#try(event.call_id, event.attempt, event.expires_at);
        this.#transcripts.get(spoken())?.retract(event.call_id);
        if (event.attempt > 1) return;
        this.#call(event.call_id, COMPLETION);
        return;
      case "ToolResult":
        this.#settle(event.tool_call_id, { ok: true, value: event.result, text: event.text_result });
        return;
      case "ToolError":
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
        const { id, call_id: callId, request_keys: questions, expires_at: until } = event;
        this.#call(callId, waitSignature(questions));
        const expiresAt = until === undefined ? {} : { expiresAt: Date.parse(until) };
        this.#waits.set(callId, { waitId: id, callId, questions, ...expiresAt });
        this.#callOfWait.set(id, callId);
        return;
      }
      case "ResumeWithInput": {
        const callId = this.#callOfWait.get(event.wait_id);
        this.#lastResume = event.id;
        if (event.resume_id !== undefined) this.#resumeIds.add(event.resume_id);
        if (callId === undefined) return;
        this.#waits.delete(callId);
        this.#settle(callId, { ok: true, value: event.request_keys });
        return;
      }
      case "WaitExpired": {
        const callId = this.#callOfWait.get(event.wait_id);
        this.#lastResume = event.id;
        if (callId === undefined) return;
        this.#waits.delete(callId);
        this.#settle(callId, EXPIRED);
        return;
      }
      case "RequestStarted":
        this.#agentVersion = event.agent_version;
        return;
      case "CancelRequest":
        this.#canceled = true;
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
    let transcript = this.#transcripts.get(actor);
    if (transcript === undefined) {
      transcript = new Transcript();
      this.#transcripts.set(actor, transcript);
    }
    transcript.add(content, completion);
    // Text that a model streams belongs to its completion.
    if (completion === undefined) this.#item(branch, content);
  }

  #call(callId: CallId, signature: string, value?: Json): void {
    this.#item(scopeOf(callId), { signature, ...(value !== undefined && { value }) });
  }

  #item(scope: string, item: Item): void {
    const items = this.#items.get(scope);
    if (items === undefined) this.#items.set(scope, [item]);
    else items.push(item);
  }

  #try(callId: CallId, attempt: number, expiresAt: string | undefined): void {
    this.#attempts.set(callId, attempt);
    this.#queued.delete(callId);
    if (expiresAt !== undefined) this.#deadlines.set(callId, Date.parse(expiresAt));
    this.#tried.add(callId);
  }

  #settle(callId: CallId, outcome: Outcome): void {
    this.#outcomes.set(callId, outcome);
    this.#openCalls.delete(callId);
    this.#tried.delete(callId);
    for (const [agent, holder] of this.#holders) if (holder === callId) this.#holders.delete(agent);
    this.#order.push({ callId, outcome });
  }
}

function toCallSignature(event: Event & { readonly type: "ToolCall" }): Signature {
  const signature = callSignature(event.function_name, event.args);
  const { mode, callee } = event;
  return mode && callee ? actorSignature(mode, callee, signature) : signature;
}

const NONE_SPARED: ReadonlyMap<CallId, number> = new Map();
