import { AgentError } from "troupe";
import type { Runtime } from "troupe";
import type { RequestId, RunId } from "troupe/protocol";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";
import { createAgents } from "./agents.ts";
import type { Outside } from "./agents.ts";
import { isParked, openWaits, readHistory } from "./history.ts";
import type { History } from "./history.ts";
import { checkActors, checkOutboxes } from "./checks/actors.ts";
import { checkEffects, checkInvariants, compareWithPrograms } from "./checks/verify-turn.ts";
import {
  checkActorTurn,
  findAbandoned,
  hasHeldTurn,
  hasRequestHeld,
  isAtRest,
  readActors,
  readRuns,
} from "./checks/actor-runs.ts";
import { checkMessages, MESSAGES } from "./messages.ts";
import { Model } from "./model.ts";
import type { Kept } from "./model.ts";
import { checkLog } from "troupe/testing";
import type { LogCheck } from "troupe/testing";
import { mutate } from "./mutate.ts";
import { createPrograms, toPicker } from "./program.ts";
import type { Programs } from "./program.ts";

/** The settings of two turns of generated programs in one run. */
export interface Simulation {
  readonly seed: number;
  readonly commitFaults?: readonly CommitFault[];
  /** Whether runs leave memory when they are idle. */
  readonly passive?: boolean;
  /** After how many actions of the client the first turn is canceled. */
  readonly cancelAfter?: number;
  /** Whether the code is changed after the first crash. */
  readonly mutated?: boolean;
  /** Whether texts gather, as on a busy server. Then the log lags behind the code, and is compared at the end of the turn. */
  readonly gathers?: boolean;
}

/** The result of a simulation. */
export interface Report {
  readonly faults: readonly string[];
  readonly commits: number;
  readonly moves: number;
  readonly turns: readonly Turn[];
}

/** A turn at its end. */
export interface Turn {
  readonly programs: Programs;
  readonly history: History;
  /** The memory of the run at its start. */
  readonly kept: Kept;
  /** Its log at the time of the code change. */
  readonly before?: History;
  /** The changed programs. */
  readonly changed?: Programs;
  /** What the check said of the changed programs before they were served. */
  readonly check?: LogCheck;
  /** Its log when it was held, because the changed code took another path. The change was undone then. */
  readonly held?: History;
}

/** Runs the turns to their end, with a client that answers and a clock that advances. */
export async function simulate(simulation: Simulation): Promise<Report> {
  const { seed, commitFaults = [], gathers = false, passive = false } = simulation;
  const done = new Map<string, number>();
  const outside: Outside = {
    programs: new Map(),
    note: (what) => void done.set(what, (done.get(what) ?? 0) + 1),
    macrotask: (run) => host.macrotask(run),
  };
  const host = new TestHost({
    seed,
    agents: createAgents(outside),
    commitFaults,
    textWindowMs: gathers ? WINDOW_MS : 0,
    ...(passive && { limits: { idleRuns: 0 } }),
  });
  const client = new Client(host, { outside, done }, simulation);
  const turns: Turn[] = [];
  for (const number of [1, 2]) {
    const turn = await client.play(number);
    turns.push(turn);
    await client.drain();
    await client.verify(turn);
    // The result of changed code cannot be predicted.
    if (client.faults.length > 0 || turn.before) break;
  }
  const faults = [...client.faults, ...host.faults.filter((fault) => !EXPECTED.test(fault))];
  return { faults, commits: host.commits, moves: client.moves, turns };
}

/** How long texts gather at most, if they do. */
const WINDOW_MS = 50;

/** Maximum number of messages to a run, fewer than it may hold unread. */
const MOST_MESSAGES = 60;

/** More numbers than the programs of one turn use. */
const PROGRAMS_EACH = 20;

/** Longer than the trials of the turns of one simulation together. */
const TRIALS_MS = 20_000;

/** What the runtime reports though it works as it should: failures of programs, and trials after several deaths. */
const EXPECTED = /^agent \w+ failed|they continue in \d+ groups/;

/** Maximum number of client actions for any turn. */
const MOST_MOVES = 300;

/** Plays the client of one run. */
class Client {
  readonly faults: string[] = [];
  readonly #host: TestHost;
  readonly #outside: Outside;
  /** How often each outside effect ran. */
  readonly #done: Map<string, number>;
  readonly #simulation: Simulation;
  readonly #pick: ReturnType<typeof toPicker>;
  #runId: RunId | undefined;
  #canceled = false;
  /** The ids of the acknowledged messages. */
  readonly #sent = new Set<string>();
  #before: History | undefined;
  #changed: Programs | undefined;
  #check: LogCheck | undefined;
  #held: History | undefined;
  /** The programs before the code was changed. */
  #original: Programs | undefined;
  #kept: Kept = { root: null, keeper: null };
  /** The programs of the current turn. */
  #current: Programs = new Map();
  /** The programs of all turns so far. */
  #programs: Programs = new Map();
  /** The turns of the run so far. */
  readonly #played: History[] = [];
  #deaths = 0;
  moves = 0;

  constructor(
    host: TestHost,
    { outside, done }: { readonly outside: Outside; readonly done: Map<string, number> },
    simulation: Simulation,
  ) {
    this.#host = host;
    this.#outside = outside;
    this.#done = done;
    this.#simulation = simulation;
    this.#pick = toPicker(createRandom(simulation.seed + 7));
  }

  /** Sends a request and plays the client to its end. */
  async play(number: number): Promise<Turn> {
    const host = this.#host;
    const requestId = `asked-${number}` as RequestId;
    const first = number * PROGRAMS_EACH;
    const pick = toPicker(createRandom(this.#simulation.seed * 2 + number));
    const programs = createPrograms(pick, { first, asks: true });
    this.#use(programs);
    const { runId } = await this.#retry((runtime) =>
      runtime.process("root", {
        type: "OperationRequest",
        operation: "perform",
        input: { program: first },
        request_id: requestId,
        ...(this.#runId !== undefined && { run_id: this.#runId }),
      }),
    );
    this.#runId ??= runId ?? undefined;
    for (let move = 0; ; move += 1) {
      await host.environment.idle();
      const history = await readHistory(host.log, runId as RunId, requestId);
      const turn = {
        programs: this.#current,
        history,
        kept: this.#kept,
        ...(this.#before && { before: this.#before }),
        ...(this.#changed && { changed: this.#changed }),
        ...(this.#check && { check: this.#check }),
        ...(this.#held && { held: this.#held }),
      };
      if (host.crashed) {
        await this.#restart(history);
        continue;
      }
      const entry = await host.log.lookup(requestId);
      if (entry?.phase === "completed") return turn;
      if (entry?.phase === "held" && this.#original !== undefined) {
        this.#held = history;
        await this.#undo(this.#original);
        continue;
      }
      if (!this.#simulation.mutated && !this.#simulation.gathers)
        this.faults.push(...compareWithPrograms(turn.programs, history, this.#kept));
      // A sleep whose time has passed is about to end, so the phase may be either one.
      const isDue = (host.environment.nextTimerMs ?? Infinity) <= 0;
      if (!isDue && (entry?.phase === "waiting") !== isParked(history))
        this.faults.push(`the request is ${String(entry?.phase)} with ${openWaits(history).length} waits`);
      if (move > MOST_MOVES) this.faults.push("the turn does not end");
      if (this.faults.length > 0) return turn;
      this.moves += 1;
      if (this.moves === this.#simulation.cancelAfter) await this.#cancel(requestId);
      else if (!(await this.#move(requestId, history))) {
        // An actor that it asks is held.
        if (this.#original !== undefined) {
          await this.#undo(this.#original);
          continue;
        }
        this.faults.push("nothing is left to happen, and the turn has not ended");
        return turn;
      }
    }
  }

  /** Passes the time until the actors that were asked and told have no work left. */
  async drain(): Promise<void> {
    const { environment, log } = this.#host;
    for (let move = 0; this.faults.length === 0; move += 1) {
      await environment.idle();
      if (this.#host.crashed) {
        await this.#revive();
        continue;
      }
      if (await isAtRest(log)) return;
      const next = environment.nextTimerMs;
      if (next === undefined && this.#original !== undefined) await this.#undo(this.#original);
      // A turn that began under the changed code is held, and its caller rests.
      else if (next === undefined && this.#changed && (await hasRequestHeld(log))) return;
      else if (next === undefined || move > MOST_MOVES)
        this.faults.push("an actor has work that does not end");
      else await environment.advance(next);
    }
  }

  /** Checks an ended turn and those of all actors, and takes over the run's memory. */
  async verify({ programs, history, kept, before }: Turn): Promise<void> {
    const end = history.events.at(-1);
    this.#before = undefined;
    if (this.faults.length > 0 || end?.type !== "RequestCompleted") return;
    this.faults.push(...checkInvariants(history));
    this.#played.push(history);
    const runs = await readRuns(this.#host.log);
    const actors = readActors(runs);
    this.faults.push(...checkActors(runs), ...findAbandoned(runs), ...(await checkOutboxes(this.#host.log)));
    this.faults.push(...checkEffects([...this.#played, ...actors.map((turn) => turn.history)], this.#done));
    if (!before) this.faults.push(...actors.flatMap((turn) => checkActorTurn(turn, this.#programs)));
    // All passivated sleeping turns share one wake timer, which may fire without work.
    const { passive = false, commitFaults = [], mutated = false } = this.#simulation;
    this.faults.push(...checkMessages(history.entries), ...this.#lostMessages(history));
    const alarms = passive || mutated || commitFaults.length > 0 ? 1 : 0;
    if (this.#host.environment.timers > alarms)
      this.faults.push(`${this.#host.environment.timers} timers are left behind`);
    // A turn started by changed code cannot be compared with the current code.
    if (before) return;
    const model = new Model(programs, history, kept);
    this.faults.push(...compareWithPrograms(programs, history, kept));
    const expected = { returned: "success", threw: "error", blocked: undefined }[model.root().state];
    if (end.finish_reason !== (this.#canceled ? "canceled" : expected))
      this.faults.push(`the turn ended with ${JSON.stringify(end)}`);
    this.#canceled = false;
    if (end.finish_reason === "success") this.#kept = model.kept();
  }

  /** Runs other programs from now on, besides those of earlier turns. */
  #use(programs: Programs): void {
    this.#current = programs;
    this.#programs = new Map([...this.#programs, ...programs]);
    this.#outside.programs = this.#programs;
  }

  async #restart(history: History): Promise<void> {
    if (this.#simulation.mutated && this.#before === undefined) {
      this.#before = history;
      this.#original = this.#current;
      this.#changed = mutate(this.#current, this.#pick);
      this.#use(this.#changed);
      const { log, artifacts, secrets } = this.#host;
      const outside = { ...this.#outside, macrotask: (run: () => void) => void setImmediate(run) };
      this.#check = await checkLog({
        log,
        artifacts,
        secrets,
        agents: createAgents(outside),
        limitMs: 1_000,
      });
    }
    await this.#revive();
  }

  /** Undoes the change of the code, and starts a process with it. */
  async #undo(original: Programs): Promise<void> {
    this.#original = undefined;
    this.#use(original);
    await this.#revive();
  }

  /**
   * Starts a new process. After the second death its turns are held back, and then continue in groups, each until its trial
   * is over.
   */
  async #revive(): Promise<void> {
    const { environment, log } = this.#host;
    await this.#host.restart();
    this.#deaths += 1;
    if (this.#deaths < 2) return;
    if (!(await isAtRest(log))) await environment.advance(TRIALS_MS);
    while (!this.#host.crashed && (await hasHeldTurn(log))) await environment.advance(250);
  }

  /** Takes the next action: an answer, or advancing the clock. */
  async #move(requestId: RequestId, history: History): Promise<boolean> {
    const { environment } = this.#host;
    const waits = openWaits(history);
    const next = environment.nextTimerMs;
    const isStuck = waits.length === 0 && next === undefined;
    if (this.#sent.size < MOST_MESSAGES && (isStuck || this.#pick.chance(20))) {
      await this.#send();
      return true;
    }
    if (waits.length > 0 && (next === undefined || this.#pick.chance(60))) {
      await this.#answer(requestId, ...this.#pick.of(waits));
      return true;
    }
    if (next !== undefined) await environment.advance(next);
    return next !== undefined;
  }

  async #answer(requestId: RequestId, callId: string, waitId: number, key: string): Promise<void> {
    const answer = {
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: waitId,
      request_keys: { [key]: callId },
      resume_id: `answer-${callId}`,
    } as const;
    try {
      await this.#retry((runtime) => runtime.process("root", answer));
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "conflict") throw error;
      // The asking code may have continued, but then the wait must be closed.
      const history = await readHistory(this.#host.log, this.#runId as RunId, requestId);
      if (openWaits(history).some(([open]) => open === callId))
        this.faults.push(`an answer to ${callId} was refused: ${error.message}`);
    }
  }

  /** Sends a message, sometimes twice at once. */
  async #send(): Promise<void> {
    const number = this.#sent.size + 1;
    const message = {
      type: "Message",
      name: this.#pick.of(MESSAGES),
      body: number,
      request_id: `message-${number}`,
      run_id: this.#runId ?? "",
    } as const;
    const tries = this.#pick.chance(20) ? 2 : 1;
    await this.#retry((runtime) =>
      Promise.all(Array.from({ length: tries }, () => runtime.process("root", message))),
    );
    this.#sent.add(message.request_id);
  }

  /** The acknowledged messages that the log does not have. */
  #lostMessages({ entries }: History): readonly string[] {
    const logged = new Set(
      entries.map((entry) => (!("n" in entry) && entry.type === "MessageReceived" ? entry.message_id : "")),
    );
    return [...this.#sent].filter((id) => !logged.has(id)).map((id) => `${id} is lost`);
  }

  async #cancel(requestId: RequestId): Promise<void> {
    this.#canceled = true;
    const event = await this.#retry((runtime) =>
      runtime.process("root", { type: "CancelRequest", request_id: requestId }),
    );
    if (event.event === undefined) this.faults.push("a cancel was not answered with the end of the turn");
  }

  /** Makes a request to the runtime, with a retry if the process dies, as a client does. */
  async #retry<Answer>(question: (runtime: Runtime) => Promise<Answer>): Promise<Answer> {
    const host = this.#host;
    for (;;) {
      let settled = false;
      const answer = question(host.runtime).finally(() => {
        settled = true;
      });
      answer.catch(() => {});
      await host.environment.idle();
      // Changed code may not reach the answered wait; then the turn must end first.
      while (!settled && !host.crashed && this.#simulation.mutated && host.environment.timers > 0)
        await host.environment.advance(host.environment.nextTimerMs ?? 0);
      if (settled) return answer;
      if (!host.crashed) throw new Error("a request has no answer though nothing is left to do");
      await this.#revive();
    }
  }
}
