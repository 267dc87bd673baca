import { AgentError, toAgentError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import { DEFAULT_OWNER, toOwned } from "../../ports/principal.ts";
import type { By, Hops, SenderRef } from "../../protocol/actors.ts";
import type { Json } from "../../protocol/json.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import { pagesOf } from "../../shared/pages.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { Agent } from "../agent/agent.ts";
import type { Schedule } from "../agent/definition/schedule.ts";
import {
  checkScheduleId,
  fromEntry,
  isOnce,
  checkTimes,
  timesOf,
  toMark,
  toScheduledId,
} from "../journal/stored-schedule.ts";
import type { LastTime, NewSchedule, ScheduleBody, StoredSchedule } from "../journal/stored-schedule.ts";
import type { RunContext } from "../run-context.ts";
import type { LookChange, PostMessage, ScheduleChange } from "./messages.ts";
import { isRenewed } from "./renewal.ts";

/** What the schedules of a run need from it. */
export interface SchedulesParts {
  /** Accepts a request, once. */
  post(message: PostMessage): Promise<unknown>;
  /** Called when a schedule is in the log that is due at a time, in milliseconds since 1970. */
  due(at: number): void;
}

/** Who makes a schedule. */
interface Maker {
  readonly sender?: SenderRef | undefined;
  readonly hops?: Hops | undefined;
  readonly by?: By | undefined;
}

/**
 * The schedules of one run: those that the definition of its agent has, and those that actors and clients have made. A time of one is
 * a request with an id that follows from the schedule and the time, so that it is accepted once, also if a process dies meanwhile.
 */
export class Schedules {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #parts: SchedulesParts;
  /** All of them by id; read from the log when the first is needed. */
  #all: Promise<Map<string, StoredSchedule>> | undefined;

  constructor(context: RunContext, ledger: RunLedger, parts: SchedulesParts) {
    this.#context = context;
    this.#ledger = ledger;
    this.#parts = parts;
  }

  /** Throws `conflict` if the run has a schedule: it is needed. */
  async checkNone(): Promise<void> {
    const all = await this.#read();
    const { runId, agent = "" } = this.#ledger;
    // One that the definition of its agent no longer has is not needed.
    const isServed = this.#context.agents.find(agent) !== undefined;
    const defined = this.#defined();
    const needed = [...all].find(
      ([id, { isDefined = false }]) => !isDefined || !isServed || Object.hasOwn(defined, id),
    );
    if (needed !== undefined) throw new AgentError("conflict", `run ${runId} has the schedule ${needed[0]}`);
  }

  /** Whether the definition of the agent has schedules for the run. */
  get areDefined(): boolean {
    return Object.keys(this.#defined()).length > 0;
  }

  /** What the schedule sends that a change makes; null if it makes none. A run that begins has no agent yet. */
  inputOf(agent: string, change: ScheduleChange): Json {
    if (change.type === "set") return change.schedule.input;
    if (change.type !== "define") return null;
    return this.#context.agents.find(agent)?.schedules?.[change.name]?.input ?? null;
  }

  /** The run has lost its key to another one, and its schedules with it. */
  forget(): void {
    this.#all = undefined;
  }

  /** Checks a change of a client or of the runtime. Returns what makes it. */
  async plan(change: Exclude<ScheduleChange, LookChange>, owner: string, by?: By): Promise<() => void> {
    const all = await this.#read();
    if (change.type === "define")
      return () => {
        for (const [name, schedule] of Object.entries(this.#defined()))
          if (name === change.name) this.#define(all, name, schedule, change.now);
      };
    const { id, type } = change;
    if (type === "set") await this.#admit(all, owner, id, change.schedule);
    if (type === "pause" || type === "resume") this.#find(all, id);
    checkMade(type === "set" || type === "remove" ? all.get(id) : undefined, id);
    return () => {
      this.#ledger.recorder.audit("schedule", by, { detail: `${type} ${id}` });
      if (type === "set") this.#set(all, id, change.schedule, { by });
      else if (type === "remove") this.#drop(all, id);
      else this.#pause(all, id, type === "pause");
    };
  }

  /** Checks what an actor wants. Returns what does it. */
  async planTold(body: ScheduleBody, owner: string, maker: Maker): Promise<() => void> {
    const all = await this.#read();
    const { id } = body;
    checkMade(all.get(id), id);
    if (!body.on) return () => this.#drop(all, id);
    const { on: _, id: _id, ...schedule } = body;
    await this.#admit(all, owner, id, schedule);
    return () => this.#set(all, id, schedule, maker);
  }

  /** Throws unless the run can have the schedule: there are limits. */
  async #admit(
    all: ReadonlyMap<string, StoredSchedule>,
    owner: string,
    id: string,
    given: NewSchedule,
  ): Promise<void> {
    checkScheduleId(id);
    checkTimes(given.times, id);
    if (all.has(id)) return;
    const { limits, owners, log } = this.#context;
    const { runId } = this.#ledger;
    const tooMany = (who: string, limit: number): AgentError =>
      new AgentError(
        "conflict",
        `${who} has ${limit} ${limit === 1 ? "schedule" : "schedules"}, and can have no more`,
        {
          hint: "remove one, or change one by its id",
        },
      );
    if (all.size >= limits.schedules) throw tooMany(`run ${runId}`, limits.schedules);
    if (owners === undefined) return;
    await owners.ready(owner);
    const { schedules: limit = Infinity } = owners.of(owner).limits;
    if (limit === Infinity) return;
    const { total = 0 } = await log.schedules({ owner, limit: 1, total: true });
    if (total >= limit) throw tooMany(`owner ${owner}`, limit);
  }

  #set(all: Map<string, StoredSchedule>, id: string, given: NewSchedule, { sender, hops, by }: Maker): void {
    const { operation, input, times, overlap, seed } = given;
    this.#store(all, id, {
      operation,
      input,
      times,
      overlap,
      seed,
      since: this.#context.environment.now(),
      ...(sender && { sender }),
      ...(hops && isOnce(given) && { hops }),
      ...(by && { by }),
    });
  }

  #define(all: Map<string, StoredSchedule>, name: string, schedule: Schedule, now: number): void {
    const { operation, input, times, overlap, text } = schedule;
    const { agent = "", state } = this.#ledger;
    const before = all.get(name);
    const seed = [agent, name, text];
    // The start is in the log of the run, because a row is not. An earlier version has no rows.
    const since = state.scheduled?.text === text ? state.scheduled.since : now;
    if (state.scheduled?.text !== text) this.#ledger.change({ type: "Scheduled", text, since });
    const isSame = before !== undefined && seed.join() === before.seed.join();
    const next: StoredSchedule = {
      operation,
      input,
      times,
      overlap,
      seed,
      since: isSame ? before.since : since,
      isDefined: true,
      ...(before?.isPaused && { isPaused: true }),
      ...(isSame && before.last && { last: before.last }),
    };
    if (JSON.stringify(next) !== JSON.stringify(before)) this.#store(all, name, next);
  }

  #find(all: ReadonlyMap<string, StoredSchedule>, id: string): StoredSchedule {
    const schedule = all.get(id);
    if (schedule !== undefined) return schedule;
    throw new AgentError("not_found", `run ${this.#ledger.runId} has no schedule ${id}`);
  }

  #pause(all: Map<string, StoredSchedule>, id: string, isPaused: boolean): void {
    const schedule = this.#find(all, id);
    if ((schedule.isPaused === true) === isPaused) return;
    const { isPaused: _, last: _last, ...rest } = schedule;
    // The times of the pause are not made up for.
    const since = isOnce(schedule) ? schedule.since : this.#context.environment.now();
    this.#store(all, id, isPaused ? { ...schedule, isPaused } : { ...rest, since });
  }

  #drop(all: Map<string, StoredSchedule>, id: string): void {
    if (all.delete(id)) this.#ledger.recorder.scheduleRow({ id });
  }

  /** Sends the request of the newest time that has passed, if it was not sent; those before it are left out. */
  async look({ id, now, error: refusal }: LookChange): Promise<void> {
    const all = await this.#read();
    const schedule = all.get(id);
    const agent = this.#context.agents.find(this.#ledger.agent ?? "");
    if (schedule === undefined || schedule.isPaused === true || agent === undefined) return;
    if (schedule.isDefined === true && !Object.hasOwn(this.#defined(), id)) {
      this.#drop(all, id);
      return;
    }
    const { since, last } = schedule;
    const at = timesOf(schedule, id).newest(now);
    const isDue = at !== undefined && (at > since || isOnce(schedule)) && at !== last?.at;
    const sent = isDue ? await this.#send(agent, id, schedule, { at, now, refusal }) : last;
    const current = all.get(id);
    // It may have been changed meanwhile.
    if (current === undefined || current.seed.join() !== schedule.seed.join()) return;
    if (isDue && isOnce(schedule) && sent?.error === undefined) this.#drop(all, id);
    else this.#store(all, id, sent ? { ...current, last: sent } : current, Math.max(now, at ?? now));
  }

  /** Sends the request of a time. Throws if that may be possible later. */
  async #send(
    agent: Agent,
    id: string,
    schedule: StoredSchedule,
    { at, now, refusal }: { readonly at: number; readonly now: number; readonly refusal: LastTime["error"] },
  ): Promise<LastTime> {
    const requestId = toScheduledId(schedule, at);
    if (refusal !== undefined) return { at, requestId, error: refusal };
    const { key, runId, owner } = this.#ledger;
    const { sender, hops, by, overlap } = schedule;
    const request: OperationRequest = {
      ...toScheduledRequest(schedule, this.#defined()[id]),
      ...(key === undefined ? { run_id: runId } : { key }),
      request_id: requestId,
      on_busy: "enqueue",
      request_metadata: { schedule: id, scheduled_at: new Date(at).toISOString() },
      ...(hops && { hops }),
    };
    const accepted = {
      requestId,
      agent: agent.name,
      request,
      acceptedAt: now,
      ...(sender && { sender }),
      ...(by && { by }),
      ...toOwned(owner),
    };
    try {
      await this.#parts.post({ kind: "post", accepted, skipsIfBusy: overlap === "skip" });
      return { at, requestId };
    } catch (thrown) {
      const { code, message } = toAgentError(thrown);
      if (AGAIN.has(code) || isRenewed(thrown)) throw thrown;
      return { at, requestId, error: { code, message } };
    }
  }

  /** Writes a schedule, with the time when it is due after another time. */
  #store(
    all: Map<string, StoredSchedule>,
    id: string,
    schedule: StoredSchedule,
    after: number = schedule.last?.at ?? schedule.since,
  ): void {
    all.set(id, schedule);
    const isFailed = isOnce(schedule) && schedule.last !== undefined;
    const times = timesOf(schedule, id);
    const due = isFailed ? Infinity : isOnce(schedule) ? times.next(-Infinity) : times.next(after);
    const mark = toMark(id, schedule, due);
    this.#ledger.recorder.scheduleRow(mark);
    if (mark.due === undefined) return;
    // A commit that fails drops the run, and the log is read again.
    this.#ledger.committed().then(
      () => this.#parts.due(due),
      () => {},
    );
  }

  /** The schedules that the definition of the agent has for this run. */
  #defined(): Readonly<Record<string, Schedule>> {
    const { agent = "", key, owner } = this.#ledger;
    const schedules = owner === DEFAULT_OWNER ? (this.#context.agents.find(agent)?.schedules ?? {}) : {};
    return Object.fromEntries(Object.entries(schedules).filter(([, schedule]) => schedule.key === key));
  }

  #read(): Promise<Map<string, StoredSchedule>> {
    this.#all ??= this.#readAll().catch((error: unknown) => {
      this.#all = undefined;
      throw error;
    });
    return this.#all;
  }

  async #readAll(): Promise<Map<string, StoredSchedule>> {
    const { environment, log } = this.#context;
    const query = { runId: this.#ledger.runId, limit: PAGE };
    const all = new Map<string, StoredSchedule>();
    for await (const { schedules } of pagesOf((start) => log.schedules({ ...query, ...start }), environment))
      for (const entry of schedules) all.set(entry.id, fromEntry(entry));
    return all;
  }
}

const PAGE = 1_000;

/** Failures that may be over later. After any other one the time is left out. */
const AGAIN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unavailable",
  "internal",
  "overloaded",
  "timeout",
]);

/** What a schedule sends; of a defined one, what the code has now. */
export function toScheduledRequest(
  stored: Pick<StoredSchedule, "operation" | "input">,
  defined?: Pick<Schedule, "operation" | "input">,
): OperationRequest {
  const { operation, input } = defined ?? stored;
  return { type: "OperationRequest", operation, input };
}

/** Throws `conflict` for a schedule of a definition, which only that can change. */
function checkMade(schedule: StoredSchedule | undefined, id: string): void {
  if (schedule?.isDefined !== true) return;
  throw new AgentError("conflict", `schedule ${id} is one of the definition of its agent`, {
    hint: "pause it, or change the definition",
  });
}
