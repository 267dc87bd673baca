import { AgentError } from "../errors.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { Claim, EventLog } from "../ports/event-log.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { createSpeaker } from "../protocol/encode.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent, Collaborators } from "./agent.ts";
import { NO_AGENT } from "./configuration.ts";
import { findAnswer, pickWait } from "./answers.ts";
import type { GivenAnswer } from "./answers.ts";
import type { Foreign } from "./foreign.ts";
import { copyHistory } from "./fork.ts";
import { createLifecycle } from "./lifecycle.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { loadJournal, loadState } from "./load-run.ts";
import { Mailbox } from "./mailbox.ts";
import type { CreateMessage, ForkMessage, Message, Reply, UploadMessage } from "./messages.ts";
import type { Limits } from "./options.ts";
import type { Accepted } from "./records.ts";
import { Recorder } from "./recorder.ts";
import { CANCELED, RunLedger } from "./run-ledger.ts";
import { newRun } from "./run-state.ts";
import type { RunState } from "./run-state.ts";
import { TurnSlot } from "./turn-slot.ts";
import type { DormantTurn } from "./turn-slot.ts";

/** What every run is given by its runtime. */
export interface RunDependencies {
  readonly log: EventLog;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
  readonly limits: Limits;
  readonly commitIntervalMs: number;
  /** The present time as events carry it. */
  readonly timestamp: () => string;
  agentOf(name: string): Agent | undefined;
  /** An agent elsewhere that an agent here may call. */
  foreignOf(name: string): Foreign | undefined;
  /** Whom an agent works with, by its own names for them. */
  usesOf(agent: Agent): Collaborators;
  /** The configuration of an agent that its new runs begin with. */
  configOf(agent: string): JsonObject | undefined;
  /** All that a run had to write is written. */
  rested(run: Run): void;
  /** A commit failed, or another owner has the run: it must be dropped and loaded again. */
  failed(run: Run, error: unknown): void;
}

/** The owner of one run: takes its messages, runs its turns one after the other, and writes its log. */
export class Run {
  readonly runId: RunId;
  readonly #deps: RunDependencies;
  readonly #ledger: RunLedger;
  readonly #lifecycle: Lifecycle;
  readonly #mailbox: Mailbox<Accepted>;
  readonly #slot: TurnSlot;
  #messages = 0;
  #isRemoved = false;

  private constructor(deps: RunDependencies, claim: Claim, state: RunState, dormant?: DormantTurn) {
    const { cursor } = claim;
    const { log, environment, timestamp, telemetry, commitIntervalMs, limits } = deps;
    const { runId } = cursor;
    this.runId = runId;
    this.#deps = deps;
    this.#lifecycle = createLifecycle((error) => telemetry.fault(`run ${runId} failed`, error));
    const recorder = new Recorder({
      log,
      cursor,
      environment,
      timestamp,
      telemetry,
      commitIntervalMs,
      recorded: (speaker, text) => this.#slot.recorded(speaker, text),
      beforeCommit: () => this.#slot.beforeCommit(),
      settled: () => deps.rested(this),
      failed: (error) => deps.failed(this, error),
    });
    this.#ledger = new RunLedger(recorder, state, claim, environment.now);
    this.#mailbox = new Mailbox(limits.queuedRequests);
    for (const { accepted, turn } of state.open) if (turn === undefined) this.#mailbox.post(accepted);
    const slot = {
      ...deps,
      runId,
      ledger: this.#ledger,
      lifecycle: this.#lifecycle,
      ended: () => this.#startNext(),
    };
    this.#slot = new TurnSlot(slot, dormant);
  }

  /** Claims a run and rebuilds it from its log, without running anything yet. */
  static async load(deps: RunDependencies, runId: RunId): Promise<Run> {
    const claim = await deps.log.claim(runId);
    try {
      return await Run.#rebuild(deps, claim);
    } catch (error) {
      deps.log.release(claim.cursor);
      throw error;
    }
  }

  static async #rebuild(deps: RunDependencies, claim: Claim): Promise<Run> {
    const { runId } = claim.cursor;
    if (claim.run === undefined) return new Run(deps, claim, newRun);
    if (claim.run.removed === true) throw new AgentError("gone", `run ${runId} was removed`);
    const state = await loadState(deps.log, runId, claim.snapshot);
    const open = state.open.find(({ turn }) => turn !== undefined);
    if (open === undefined) return new Run(deps, claim, state);
    const { requestId } = open.accepted;
    const entry = await deps.log.lookup(requestId);
    const place = { requestId, root: `c${open.turn}`, started: entry?.started ?? 1 };
    const journal = await loadJournal(deps.log, runId, place);
    return new Run(deps, claim, state, { journal, waiting: entry?.phase === "waiting" });
  }

  /** Whether nothing would be lost by letting go of the run: it is idle, or waits for its caller. */
  get quiet(): boolean {
    return this.#ledger.recorder.settled && this.#messages === 0 && !this.working;
  }

  /** Whether a turn is under way and does not wait. */
  get working(): boolean {
    return this.#lifecycle.state === "working";
  }

  /** Whether its turn has something to do right now: it neither waits nor sleeps. */
  get busy(): boolean {
    return this.working && !this.#slot.resting;
  }

  /** Whether the run was removed, or that was tried: whatever the log has now, it is to be let go of. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Answers a message once what it asked for is in the log. */
  async deliver(message: Message): Promise<Reply> {
    this.#messages += 1;
    try {
      const reply = await this.#answer(message);
      await this.#committed();
      return reply;
    } finally {
      this.#messages -= 1;
    }
  }

  /** Ends the turn of a request because its code failed where nobody could catch it. */
  crash(requestId: RequestId, reason: string): void {
    if (this.#slot.requestId === requestId) this.#slot.crash(reason);
  }

  /** Says in the log that the turn is let go of in good order, so that its continuation counts as no recovery. */
  async settle(): Promise<void> {
    const { requestId } = this.#slot;
    if (requestId !== undefined && this.working)
      this.#ledger.change({ type: "Released", request_id: requestId });
    await this.#committed();
  }

  /** Lets go of the run. A turn that is open continues from the log, here or elsewhere. */
  release(): void {
    const { recorder } = this.#ledger;
    this.#lifecycle.send("close");
    this.#slot.release();
    recorder.stop(() => letGoOf(this.runId));
    this.#deps.log.release(recorder.cursor);
  }

  /** Removes an idle run with all that is in its log; it must be let go of afterwards. */
  async remove(): Promise<void> {
    const { recorder } = this.#ledger;
    do {
      if (this.#lifecycle.state !== "idle")
        throw new AgentError("conflict", `run ${this.runId} has an open request`);
      await this.#committed();
      // What has come meanwhile has to be looked at again.
    } while (!recorder.settled || this.#lifecycle.state !== "idle");
    this.#isRemoved = true;
    try {
      await this.#deps.log.remove(recorder.cursor);
    } catch (cause) {
      throw notWritten(cause);
    }
  }

  async #answer(message: Message): Promise<Reply> {
    if (this.#isRemoved) throw new AgentError("gone", `run ${this.runId} was removed`);
    switch (message.kind) {
      case "turn":
        return this.#accept(message.accepted);
      case "resume":
        return this.#resume(message.requestId, message);
      case "cancel":
        return this.#cancel(message.requestId);
      case "configure":
        return this.#configure(message.args);
      case "create":
        return this.#create(message);
      case "fork":
        return this.#fork(message);
      case "uploaded":
        return this.#uploaded(message);
      case "recover":
        return this.#recover();
      default: {
        const never: never = message;
        return never;
      }
    }
  }

  #accept(accepted: Accepted): Reply {
    const { requestId, request, agent } = accepted;
    const { limits, telemetry } = this.#deps;
    const after = this.#ledger.recorder.head;
    if (after >= limits.runEvents) {
      throw new AgentError(
        "run_full",
        `run ${this.runId} has its ${limits.runEvents} events; start a new one`,
      );
    }
    const busy = this.#lifecycle.state !== "idle";
    if (busy) this.#admit(request.on_busy);
    if (!this.#ledger.begun) this.#begin(agent, request.input, request.request_metadata ?? {});
    this.#ledger.accept(accepted);
    telemetry.accepted(agent);
    let event: string | undefined;
    if (!busy) {
      event = this.#slot.start(accepted);
    } else if (request.on_busy === "interrupt") {
      this.#mailbox.postFirst(accepted);
      this.#slot.cancel();
    } else {
      this.#mailbox.post(accepted);
    }
    this.#save();
    return this.#reply(after, requestId, event);
  }

  /** Decides whether a busy run takes one more request. */
  #admit(onBusy: Accepted["request"]["on_busy"]): void {
    if (onBusy === "interrupt") return;
    if (onBusy === "reject") throw new AgentError("conflict", `run ${this.runId} is busy`);
    if (onBusy === undefined && this.#lifecycle.state === "waiting") {
      const [wait] = this.#slot.waits;
      throw new AgentError("conflict", `run ${this.runId} waits for input`, {
        hint: "answer it with ResumeWithInput, or say on_busy",
        facts: { wait_id: wait?.waitId ?? null, request_keys: wait?.questions ?? {} },
      });
    }
    this.#mailbox.checkRoom();
  }

  async #resume(requestId: RequestId | undefined, given: GivenAnswer): Promise<Reply> {
    const started = this.#slot.requestId;
    const asked = requestId ?? started;
    if (asked === undefined)
      throw new AgentError("conflict", `no request of run ${this.runId} waits for input`);
    const isRepeated = given.resumeId !== undefined && this.#slot.knowsAnswer(given.resumeId);
    const open = asked === started && !isRepeated ? pickWait(this.#slot.waits, given) : undefined;
    const answered = open && (await this.#slot.answer(open.callId, given));
    if (answered) return this.#reply(answered.id - 1, asked, answered.text);
    // The answer before this one may still be on its way into the log.
    await this.#committed();
    const earlier = await findAnswer(this.#deps.log, this.runId, asked, given);
    return { ...this.#reply(earlier.id - 1, asked, earlier.text), replayed: true };
  }

  async #cancel(requestId: RequestId): Promise<Reply> {
    const after = this.#ledger.recorder.head;
    const queued = this.#mailbox.remove((accepted) => accepted.requestId === requestId);
    if (queued) return this.#reply(after, requestId, this.#cancelQueued(queued));
    if (this.#slot.requestId === requestId) return this.#reply(after, requestId, this.#slot.cancel());
    // It may just have ended: whoever looks into the log for its end has to find it there.
    await this.#committed();
    throw new AgentError("conflict", `request ${requestId} is not open`);
  }

  /** A request that never ran gets its whole turn at once, in one commit. */
  #cancelQueued(accepted: Accepted): string {
    const { requestId: request_id, agent } = accepted;
    const speaker = createSpeaker({ run_id: this.runId, request_id, agent, depth: 0 });
    this.#ledger.start(speaker, accepted, this.#deps.agentOf(agent)?.version);
    this.#ledger.recorder.event(speaker, { type: "CancelRequest" });
    const text = this.#ledger.end(speaker, accepted, CANCELED);
    this.#save();
    return text;
  }

  #configure(args: JsonObject): Reply {
    // The configuration of an agent is kept in a log without turns, under no agent's name.
    if (!this.#ledger.begun) this.#ledger.begin(NO_AGENT, null, {}, undefined);
    const version = (this.#ledger.state.config?.version ?? 0) + 1;
    this.#ledger.change({
      type: "ConfigRecorded",
      version,
      args: { ...this.#ledger.state.config?.args, ...args },
    });
    this.#save();
    return this.#reply(this.#ledger.recorder.head);
  }

  #create({ agent, input, metadata, alias }: CreateMessage): Reply {
    const { recorder } = this.#ledger;
    this.#begin(agent, input, metadata);
    if (alias !== undefined) recorder.alias(alias);
    recorder.event(this.#ownSpeaker(agent), { type: "RunCreated", input, metadata });
    this.#save();
    return this.#reply(0);
  }

  async #fork({ source: sourceId, after }: ForkMessage): Promise<Reply> {
    const { log } = this.#deps;
    const source = await log.run(sourceId);
    if (source === undefined) throw new AgentError("not_found", `there is no run ${sourceId}`);
    // The run shows in no list until its history is complete.
    this.#ledger.begin(NO_AGENT, null, {}, undefined);
    this.#save();
    await copyHistory(log, this.#ledger, { source, after, target: this.runId });
    const forkedFrom = { forked_from: { run_id: sourceId, id: after } };
    const config = after === 0 ? this.#deps.configOf(source.agent) : undefined;
    this.#ledger.begin(source.agent, source.initialInput, { ...source.metadata, ...forkedFrom }, config);
    this.#save(true);
    return this.#reply(after);
  }

  #uploaded({ agent, artifact: { artifactId, name, mimeType, sizeBytes, url } }: UploadMessage): Reply {
    this.#ledger.recorder.event(this.#ownSpeaker(agent), {
      type: "ArtifactUploaded",
      name,
      artifact_id: artifactId,
      url,
      mime_type: mimeType,
      size_bytes: sizeBytes,
    });
    this.#save();
    return this.#reply(this.#ledger.recorder.head - 1);
  }

  #recover(): Reply {
    if (this.#slot.requestId === undefined) this.#startNext();
    else if (this.working) this.#slot.recover();
    return this.#reply(this.#ledger.recorder.head);
  }

  #begin(agent: string, input: Accepted["request"]["input"], metadata: JsonObject): void {
    this.#ledger.begin(agent, input, metadata, this.#deps.configOf(agent));
  }

  /** Starts the next request, if one is queued and the run is idle. */
  #startNext(): void {
    const next = this.#mailbox.take();
    if (next) this.#slot.start(next);
    this.#save(true);
  }

  #save(snapshot = false): void {
    const { state } = this.#lifecycle;
    this.#ledger.save(state === "waiting" ? "waiting" : state === "idle" ? "idle" : "running", { snapshot });
  }

  #ownSpeaker(agent: string): ReturnType<typeof createSpeaker> {
    return createSpeaker({ run_id: this.runId, request_id: null, agent, depth: 0 });
  }

  #reply(after: number, requestId?: RequestId, event?: string): Reply {
    return {
      runId: this.runId,
      replayed: false,
      after,
      ...(requestId !== undefined && { requestId }),
      ...(event !== undefined && { event }),
    };
  }

  async #committed(): Promise<void> {
    try {
      await this.#ledger.recorder.committed();
    } catch (cause) {
      throw notWritten(cause);
    }
  }
}

/** Made only for whoever waits: an error costs more than to let go of a run. */
function letGoOf(runId: RunId): AgentError {
  return new AgentError("unavailable", `run ${runId} was let go of`, { retryAfterS: 1 });
}

function notWritten(cause: unknown): AgentError {
  return new AgentError("unavailable", "the log does not take events at present", { retryAfterS: 1, cause });
}
