import type { Environment } from "../../ports/environment.ts";
import { SHARED_OWNER, ownerOf } from "../../ports/principal.ts";
import type { PeerClaim } from "../../shared/peer-claim.ts";
import type { Hops, Caller } from "../../protocol/actors.ts";
import { createSpeaker, toTimestamp } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { EventBody } from "../../protocol/events/event-body.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { CALLERS_LIMIT } from "../../protocol/actors.ts";
import { RemoteFailure } from "../agent/remote-port.ts";
import type {
  RemoteCursor,
  RemoteFile,
  RemoteHandler,
  RemoteResult,
  RemoteSession,
  RemoteSpeaker,
  RemoteWait,
  StoredFile,
} from "../agent/remote-port.ts";
import { toPublished, toResultFile } from "../agent/result-file.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import type { Memory } from "../agent/turn-api.ts";
import { artifactUrl } from "../artifacts/artifact.ts";
import { scopeOf } from "../journal/call-id.ts";
import { nextHops } from "../replay/actor-request.ts";
import { traceAt } from "../replay/turn-trace.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import { attachedTo } from "../turn/actor-context.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { RemoteWaits } from "./remote-waits.ts";

/** Lets a remote agent perform the operation of an actor; throws a RemoteFailure if that fails. */
export async function performRemotely(
  actor: ActorContext,
  remote: RemoteHandler,
  { name: operation, input }: Pick<Invocation, "name" | "input">,
): Promise<RemoteResult> {
  const { request_metadata: metadata = {}, tools = [], hops } = actor.turn.accepted.request;
  const { remoteActor } = actor;
  if (remoteActor) await checkKeys(actor, remote);
  const isTell = remoteActor?.mode === "tell";
  const depth = actor.turn.depth + actor.depth;
  const request = {
    operation,
    input,
    metadata,
    attachments: filesOf(actor),
    tools: actor.depth === 0 && !remoteActor ? tools : [],
    caller: callersOf(actor, !isTell),
    depth: isTell ? 0 : depth,
    trace: traceAt(actor.turn.runId, actor.turn.accepted, actor.call.callId),
    ...(remoteActor && { actor: remoteActor, ...hopsOf(actor, isTell) }),
    ...(!remoteActor && hops && { hops }),
  };
  const end = await remote.perform(request, new LocalSession(actor));
  if (end.ok) return end;
  throw new RemoteFailure(end);
}

/** The turns that led to a request of this actor, including its own. */
function callersOf({ agent, turn }: ActorContext, waits: boolean): readonly Caller[] {
  const { accepted, runId } = turn;
  const { caller = [] } = accepted.request;
  const own = { run_id: runId, request_id: accepted.requestId };
  // Nothing waits for a tell, so it is not nested in the turns that led to it.
  if (!waits) return [{ ...own, waits }];
  if (caller.length < CALLERS_LIMIT) return [...caller, own];
  const message = `agent ${agent.name} is called by a chain of more than ${CALLERS_LIMIT} callers`;
  throw new RemoteFailure({ ok: false, toolCode: "too_deep", turnCode: "agent_error", message });
}

/** Throws unless requests to the other server can name a run: one that does not know keys would start a new run. */
async function checkKeys({ agent, turn, scope }: ActorContext, remote: RemoteHandler): Promise<void> {
  // A request that was sent before is not sent again, so it needs no check.
  if (turn.journal.scopes.get(scope.path)?.remote) return;
  await remote.ready();
  if (remote.keys === true) return;
  const message = `the server of agent ${agent.name} does not address runs by key, or cannot be reached`;
  throw new RemoteFailure({ ok: false, toolCode: "unavailable", turnCode: "agent_error", message });
}

function hopsOf({ turn }: ActorContext, isTell: boolean): { readonly hops?: Hops } {
  const { hops } = turn.accepted.request;
  if (!isTell) return hops ? { hops } : {};
  return { hops: nextHops(hops, toTimestamp(turn.context.environment.now())) };
}

function filesOf(actor: ActorContext): readonly RemoteFile[] {
  const { store } = actor.turn.context.files;
  return attachedTo(actor).map((artifactId) => ({
    artifactId,
    async open() {
      const { name, mimeType } = (await store.get(artifactId)) ?? { name: "file", mimeType: "" };
      return { name, mimeType, body: store.read(artifactId) };
    },
  }));
}

/** The local side of a remote call: its texts, questions, files and open calls. */
class LocalSession implements RemoteSession {
  readonly kept: Json | undefined;
  readonly #actor: ActorContext;
  /** The open remote calls by local id. */
  readonly #calls = new Map<CallId, OpenCall>();
  readonly #speakers: RemoteSpeakers;
  readonly #waits: RemoteWaits;
  #count: number;
  #work: OpenCall | undefined;

  constructor(actor: ActorContext) {
    this.#actor = actor;
    this.#speakers = new RemoteSpeakers(actor);
    this.#waits = new RemoteWaits(actor);
    const { journal } = actor.turn;
    // Activity is reported by the remote call itself and need not be inferred from code.
    actor.turn.activity.end(actor.scope.path);
    // Logged events are not repeated on replay, so there is nothing to compare.
    actor.scope.skip();
    const before = actor.turn.calls.unreplayed?.takeRemote(actor.scope.path);
    this.kept = before?.kept;
    this.#count = before?.calls ?? 0;
    actor.files.push(...(before?.files ?? []));
    for (const { callId, made } of journal.open) {
      if (made === undefined || scopeOf(callId) !== actor.scope.path) continue;
      const { name, agent, depth, parentCallId } = made;
      const parent = parentCallId === undefined ? {} : { parent: parentCallId };
      this.began(callId, name, { agent, depth: depth - actor.depth, ...parent });
    }
  }

  get key(): string {
    return `${this.#actor.turn.runId}/${this.#actor.call.callId}`;
  }

  get environment(): Environment {
    return this.#actor.turn.context.environment;
  }

  get signal(): AbortSignal {
    return this.#actor.signal;
  }

  get released(): boolean {
    return this.#actor.turn.released;
  }

  get principal(): PeerClaim | undefined {
    const { accepted } = this.#actor.turn;
    const owner = ownerOf(accepted);
    return owner === SHARED_OWNER ? undefined : { id: "server", ...accepted.by, owner };
  }

  get memory(): Memory {
    return this.#actor.memory;
  }

  get depthLimit(): number {
    const { depth, turn } = this.#actor;
    return turn.context.limits.depth - turn.depth - depth;
  }

  newCall(): CallId {
    this.#count += 1;
    return `${this.#actor.scope.path}.${this.#count}` as CallId;
  }

  say(speaker: RemoteSpeaker, body: EventBody): void {
    const { turn, transcript } = this.#actor;
    if (!this.#accepts()) return;
    const own = this.#speakers.speakerOf(speaker);
    if (body.type === "TextOutput") turn.recorder.text(own, body.content, body);
    else turn.recorder.event(own, body);
    if (speaker.depth === 0) {
      if (body.type === "TextOutput") transcript.add(body.content, body.call_id);
      if (body.type === "CompletionCall") transcript.retract(body.call_id);
    }
    if (body.type === "CompletionResult")
      turn.addCompletion({
        agent: this.#actor.agent.name,
        owner: ownerOf(turn.accepted),
        model: body.model,
        outcome: body.error === undefined ? "ok" : (body.error_code ?? "model_error"),
        ms: body.elapsed_ms,
        usage: body.usage,
      });
    if (body.type === "ArtifactGenerated" && speaker.depth === 0) {
      this.#actor.files.push(toPublished(body));
    }
  }

  began(callId: CallId, name: string, speaker: RemoteSpeaker): void {
    if (!this.#isWanted) return;
    const { call: parent, turn } = this.#actor;
    const call = new OpenCall({
      callId,
      kind: "remoteCall",
      name,
      speaker: this.#speakers.speakerOf(speaker),
      parent,
    });
    this.#calls.set(callId, call);
    turn.calls.opened(call);
  }

  ended(callId: CallId): void {
    this.#calls.get(callId)?.close();
    this.#calls.delete(callId);
  }

  ask(speaker: RemoteSpeaker, wait: RemoteWait): Promise<void> {
    return this.#accepts() ? this.#waits.ask(this.#speakers.speakerOf(speaker), wait) : NEVER;
  }

  askedBefore(wait: Pick<RemoteWait, "callId" | "give" | "due">): Promise<void> {
    return this.#waits.askedBefore(wait);
  }

  answered(callId: CallId, values: JsonObject): void {
    if (this.#accepts()) this.#waits.answered(callId, values);
  }

  expired(callId: CallId): void {
    if (this.#accepts()) this.#waits.expired(callId);
  }

  async store(file: StoredFile): Promise<EventBody> {
    const { runId } = this.#actor.turn;
    const { files, limits } = this.#actor.turn.context;
    const { artifactId, name, mimeType } = file;
    // After the end of the call its run may be gone, so an event must not be recorded then.
    this.signal.throwIfAborted();
    const { sizeBytes } = await files.put({ ...file, runId, limitBytes: limits.artifactBytes });
    const stored = { artifactId, name, mimeType, url: artifactUrl(artifactId), sizeBytes };
    return { type: "ArtifactGenerated", ...toResultFile(stored) };
  }

  busy(isBusy: boolean): void {
    if (isBusy === (this.#work !== undefined) || (isBusy && !this.#isWanted)) return;
    const { call: parent, speaker, agent, turn } = this.#actor;
    if (this.#work) turn.calls.drop(parent, this.#work.callId);
    this.#work = isBusy
      ? new OpenCall({
          callId: `${parent.callId}/elsewhere` as CallId,
          kind: "remote",
          name: agent.name,
          speaker,
          parent,
        })
      : undefined;
    if (this.#work) turn.calls.opened(this.#work);
  }

  async keep(kept: Json): Promise<void> {
    const { agent, files, scope, speaker, turn } = this.#actor;
    if (!this.#accepts()) return;
    const state: RemoteCursor = { calls: this.#count, waits: this.#waits.kept, files, kept };
    turn.recorder.record({
      type: "RemoteCursor",
      scope: scope.path,
      agent: agent.name,
      // A copy, because records are encoded later.
      state: structuredClone(state),
    });
    // Waits for the code that iterates the call, so that the events of the other server are not read faster than that
    // code takes them.
    await turn.room(speaker);
  }

  committed(): Promise<void> {
    return this.#actor.turn.recorder.committed();
  }

  /** Whether the call is still open; a call opened after its end would never be closed. */
  get #isWanted(): boolean {
    return this.#actor.call.open;
  }

  #accepts(): boolean {
    if (this.#isWanted) return true;
    this.#actor.turn.context.telemetry.dropped("late_event");
    return false;
  }
}

const NEVER = new Promise<never>(() => {});

/** Maximum number of speakers with prepared constant text. */
const SPEAKERS_LIMIT = 256;

/** The speakers of a remote agent, placed below the local actor. */
class RemoteSpeakers {
  readonly #actor: ActorContext;
  readonly #speakers = new Map<string, Speaker>();

  constructor(actor: ActorContext) {
    this.#actor = actor;
  }

  speakerOf({ agent, depth, parent }: RemoteSpeaker): Speaker {
    const { call, depth: base, speaker, turn } = this.#actor;
    // The remote agent itself speaks under its local name.
    if (base === 0 && depth === 0) return speaker;
    const key = `${depth} ${parent ?? ""} ${agent}`;
    const known = this.#speakers.get(key);
    if (known) return known;
    if (this.#speakers.size >= SPEAKERS_LIMIT) this.#speakers.clear();
    const { runId, accepted } = turn;
    const made = createSpeaker({
      run_id: runId,
      request_id: accepted.requestId,
      agent,
      depth: base + depth,
      parent_call_id: parent ?? call.callId,
    });
    this.#speakers.set(key, made);
    turn.subscriptions?.introduce(made, parent ?? call.callId);
    return made;
  }
}
