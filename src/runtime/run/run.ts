import { AgentError } from "../../errors.ts";
import type { Claim, EventLog } from "../../ports/event-log.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { RunPhase } from "../../protocol/status.ts";
import { createLifecycle } from "../activation/lifecycle.ts";
import type { Lifecycle, LifecycleState } from "../activation/lifecycle.ts";
import { loadRun } from "../replay/load-run.ts";
import type { LoadedRun } from "../replay/load-run.ts";
import { toReply } from "./messages.ts";
import type { Message, Reply } from "./messages.ts";
import type { RunContext } from "../run-context.ts";
import { Recorder } from "../journal/recorder.ts";
import { notWritten, RunLedger } from "../activation/run-ledger.ts";
import { RunUpdates } from "./notes.ts";
import { RequestQueue } from "./requests.ts";

/** What every run is given by its runtime. */
export interface RunDependencies {
  readonly context: RunContext;
  /** All that a run had to write is written. */
  rested(run: Run): void;
  /** A run was let go of that sleeps until a time, in milliseconds since 1970. */
  sleeps(wakeAtMs: number): void;
  /** A commit failed, or another owner has the run: it must be dropped and loaded again. */
  failed(run: Run, error: unknown): void;
}

/** The owner of one run: takes its messages, runs its turns one after the other, and writes its log. */
export class Run {
  readonly runId: RunId;
  readonly #deps: RunDependencies;
  readonly #ledger: RunLedger;
  readonly #lifecycle: Lifecycle;
  readonly #requests: RequestQueue;
  readonly #notes: RunUpdates;
  #messages = 0;
  /** Whether it is only becoming what it is to be: a copy of another one. */
  #copying = false;
  #removal: "none" | "begun" | "tried" = "none";

  private constructor(deps: RunDependencies, claim: Claim, loaded: LoadedRun) {
    const { cursor } = claim;
    const { context } = deps;
    const { environment, telemetry } = context;
    const { runId } = cursor;
    this.runId = runId;
    this.#deps = deps;
    const lifecycle = createLifecycle((error) => telemetry.fault(`run ${runId} failed`, error));
    const recorder = new Recorder({
      context,
      cursor,
      recorded: (speaker, text) => this.#requests.slot.recorded(speaker, text),
      beforeCommit: () => this.#requests.slot.beforeCommit(),
      settled: () => deps.rested(this),
      failed: (error) => deps.failed(this, error),
    });
    const ledger = new RunLedger(recorder, loaded.state, claim, environment.now);
    const save = (snapshot = false): void => ledger.save(phaseOf(lifecycle.state), { snapshot });
    this.#ledger = ledger;
    this.#lifecycle = lifecycle;
    this.#requests = new RequestQueue({ context, ledger, lifecycle, save }, loaded);
    this.#notes = new RunUpdates({ context, ledger, save });
  }

  /** Claims a run and rebuilds it from its log, without running anything yet. */
  static async load(deps: RunDependencies, runId: RunId): Promise<Run> {
    const { log } = deps.context;
    const claim = await claimRun(log, runId);
    try {
      return new Run(deps, claim, await loadRun(log, claim));
    } catch (error) {
      log.release(claim.cursor);
      throw error;
    }
  }

  /** Whether nothing would be lost by letting go of the run: it is idle, waits for its caller, or sleeps for long. */
  get quiet(): boolean {
    if (!this.#ledger.recorder.settled || this.#messages > 0) return false;
    return !this.working || this.wakeAt !== undefined;
  }

  /** Until when its turn sleeps, in milliseconds since 1970; `undefined` when it does not, or not for long. */
  get wakeAt(): number | undefined {
    return this.#requests.slot.wakeAt;
  }

  /** Whether a turn is under way and does not wait. */
  get working(): boolean {
    return this.#lifecycle.state === "working";
  }

  /** Whether its turn has something to do right now: it neither waits nor sleeps. */
  get busy(): boolean {
    return this.working && !this.#requests.slot.resting;
  }

  /** Whether the run was removed, or that was tried: whatever the log has now, it is to be let go of. */
  get isRemoved(): boolean {
    return this.#removal === "tried";
  }

  /** Answers a message once what it asked for is in the log. */
  async deliver(message: Message): Promise<Reply> {
    this.#messages += 1;
    try {
      const reply = await this.#answer(message);
      // A run that was removed has nothing left to write.
      if (!this.isRemoved) await this.#ledger.committed();
      return reply;
    } finally {
      this.#messages -= 1;
    }
  }

  /** Ends the turn of a request because its code failed where nobody could catch it. */
  crash(requestId: RequestId, reason: string): void {
    if (this.#requests.slot.requestId === requestId) this.#requests.slot.crash(reason);
  }

  /** Says in the log that the turn is let go of in good order, so that its continuation counts as no recovery. */
  async settle(): Promise<void> {
    const { active, requestId } = this.#requests.slot;
    if (requestId !== undefined && active && this.working && this.wakeAt === undefined)
      this.#ledger.change({ type: "Released", request_id: requestId });
    await this.#ledger.committed();
  }

  /** Lets go of the run. A turn that is open continues from the log, here or elsewhere. */
  release(): void {
    const { recorder } = this.#ledger;
    this.#lifecycle.send("close");
    this.#requests.slot.release();
    recorder.stop(() => letGoOf(this.runId));
    this.#deps.context.log.release(recorder.cursor);
  }

  async #answer(message: Message): Promise<Reply> {
    this.#checkThere();
    switch (message.kind) {
      case "turn":
        return this.#requests.accept(message.accepted);
      case "resume":
        return this.#requests.resume(message.requestId, message);
      case "cancel":
        return this.#requests.cancel(message.requestId);
      case "configure":
      case "create":
      case "uploaded":
        return toReply(this.runId, await this.#notes.write(message));
      case "fork":
        return this.#copy(message);
      case "recover":
        return this.#requests.recover();
      case "remove":
        return this.#remove();
      default: {
        const never: never = message;
        return never;
      }
    }
  }

  async #copy(message: Message & { readonly kind: "fork" }): Promise<Reply> {
    this.#copying = true;
    try {
      return toReply(this.runId, await this.#notes.write(message));
    } finally {
      this.#copying = false;
    }
  }

  /** Removes an idle run with all that is in its log; it must be let go of afterwards. */
  async #remove(): Promise<Reply> {
    const { recorder } = this.#ledger;
    do {
      if (this.#copying) throw new AgentError("conflict", `run ${this.runId} is being copied`);
      if (this.#lifecycle.state !== "idle")
        throw new AgentError("conflict", `run ${this.runId} has an open request`);
      await this.#ledger.committed();
      // What has come meanwhile has to be looked at again.
    } while (!recorder.settled || this.#lifecycle.state !== "idle");
    this.#checkThere();
    this.#removal = "begun";
    const { files, log, secrets } = this.#deps.context;
    try {
      // From here on there is no way back: a removal that is cut off is finished at the next start.
      this.#ledger.hide();
      await this.#ledger.committed();
      await files.remove(this.runId);
      await secrets.remove(`${this.runId}.`);
      await log.remove(recorder.cursor);
    } catch (cause) {
      throw notWritten(cause);
    } finally {
      this.#removal = "tried";
    }
    return toReply(this.runId, recorder.head);
  }

  #checkThere(): void {
    if (this.#removal !== "none") throw new AgentError("gone", `run ${this.runId} was removed`);
  }
}

function phaseOf(state: LifecycleState): RunPhase {
  if (state === "waiting" || state === "idle") return state;
  return "running";
}

/** A log that does not give a run away says so in its own words. */
async function claimRun(log: EventLog, runId: RunId): Promise<Claim> {
  try {
    return await log.claim(runId);
  } catch (cause) {
    throw cause instanceof AgentError ? cause : notWritten(cause);
  }
}

/** Made only for whoever waits: an error costs more than to let go of a run. */
function letGoOf(runId: RunId): AgentError {
  return new AgentError("unavailable", `run ${runId} was let go of`, { retryAfterS: 1 });
}
