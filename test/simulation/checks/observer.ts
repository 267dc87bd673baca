import type { Cursor } from "../../../src/ports/event-log.ts";
import type { Batch, LogRecord } from "../../../src/ports/log-batch.ts";
import { idOf } from "../../../src/protocol/events/encode.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { EventPage } from "../../../src/runtime/feeds.ts";
import type { AcceptedRequest } from "../../../src/runtime/journal/records.ts";
import { SECRET } from "../../laws/agents.ts";
import { countSpared, openWaits, toHistory } from "../../laws/history.ts";
import type { History } from "../../laws/history.ts";
import type { LogObserver } from "../processes/disk.ts";

/** All entries of a run's log, in order. */
export interface LoggedRun {
  readonly texts: string[];
  readonly events: Event[];
  readonly records: LogRecord[];
  removed: boolean;
  /** Hidden, because it is not complete yet or no longer. */
  hidden: boolean;
}

/** The log's data of a request. */
export interface LoggedRequest {
  readonly runId: string;
  /** The events of its turn, as logged. */
  readonly texts: string[];
  start?: Event;
  end?: Event & { readonly type: "RequestCompleted" };
  readonly waits: Set<number>;
  readonly answered: Set<number>;
}

/** The outside effect of a call. */
interface Deed {
  times: number;
  /** How often the log says that it was started. */
  attempts: number;
  settled: boolean;
  /** The calls before it of an effect with the same name, which a retried tool makes. */
  readonly earlier: readonly Deed[];
}

/**
 * Observes every log entry, everything that clients receive, and every outside effect, at the time it occurs,
 * and records violations.
 */
export class Observer implements LogObserver {
  readonly runs = new Map<string, LoggedRun>();
  readonly requests = new Map<string, LoggedRequest>();
  readonly faults: string[] = [];
  readonly #claims = new Map<string, number>();
  readonly #deeds = new Map<string, Deed>();
  readonly #calls = new Map<string, Deed>();
  #newest = 0;
  #over = 0;
  #lastMinuteMs = -Infinity;

  /** Records a violation. */
  say(what: string): void {
    this.faults.push(what);
  }

  /** Whether a request is open whose id begins with this. */
  hasOpen(prefix: string): boolean {
    return [...this.requests].some(
      ([requestId, { runId, end }]) =>
        requestId.startsWith(prefix) && end === undefined && this.runs.get(runId)?.removed !== true,
    );
  }

  /**
   * Whether a turn waits until a full minute after a time, in milliseconds since 1970. The simulation takes its timer for one
   * of a schedule.
   */
  awaitsMinute(afterMs: number): boolean {
    return this.#lastMinuteMs > afterMs && this.hasOpen("");
  }

  opened(): void {
    this.#over = this.#newest;
  }

  claimed({ runId, epoch }: Cursor): void {
    this.#claims.set(runId, epoch);
    this.#newest = Math.max(this.#newest, epoch);
  }

  removed(runId: string): void {
    const run = this.runs.get(runId);
    if (run) run.removed = true;
  }

  written({ runId, epoch }: Cursor, { events, records, run: row }: Batch): void {
    const run = this.#run(runId);
    if (row !== undefined) run.hidden = row.agent === "" && !runId.startsWith("config-");
    if (run.removed) this.say(`run ${runId} was written to after its removal`);
    if (epoch <= this.#over || epoch !== this.#claims.get(runId))
      this.say(`run ${runId} was written to by an owner that it has no more`);
    for (const record of records) this.#record(runId, run, record);
    for (const text of toEncoded(events)) this.#event(runId, run, text);
  }

  /** An outside effect by code of a process that may no longer own the log. */
  did(what: string, isOwner: boolean): void {
    const [kind = "", key = ""] = what.split(" ");
    const deed = this.#deeds.get(key);
    if (deed === undefined) {
      this.say(`${what} was done, and the log has no call for it`);
      return;
    }
    // A process that was suspended between a call and its effect may do it after the call was made again.
    const late =
      kind === "risky" && !isOwner && deed.times > 0
        ? deed.earlier.find(({ times }) => times === 0)
        : undefined;
    if (late) {
      late.times += 1;
      return;
    }
    deed.times += 1;
    if (kind === "risky" && deed.times > 1) this.say(`${what} was done ${deed.times} times`);
    if (isOwner && deed.times > deed.attempts)
      this.say(`${what} was done ${deed.times} times in ${deed.attempts} attempts`);
    if (isOwner && deed.settled) this.say(`${what} was done again although the log has how it ended`);
  }

  /** Checks that an accepted request is in the log. */
  clientAccepted(requestId: string, runId: string | null): void {
    if (this.requests.get(requestId)?.runId !== runId)
      this.say(`${requestId} was accepted in run ${runId}, which the log does not have`);
  }

  /** Checks that an event that a client received is in the log. */
  clientReceived(runId: string, text: string): void {
    if (this.runs.get(runId)?.texts[idOf(text) - 1] !== text)
      this.say(`a client received what is not in the log: ${text}`);
  }

  /** A reader receives a page that continues its previous one. */
  read(runId: string, requestId: string | undefined, after: number, { events, cursor }: EventPage): void {
    const run = this.runs.get(runId);
    if (run === undefined || cursor < after || cursor > run.texts.length) {
      this.say(`a reader of run ${runId} came from ${after} to ${cursor}, where the log is not`);
      return;
    }
    let next = 0;
    for (let id = after + 1; id <= cursor; id += 1) {
      if (requestId !== undefined && run.events[id - 1]?.request_id !== requestId) continue;
      if (events[next] !== run.texts[id - 1])
        this.say(`a reader of run ${runId} was given ${String(events[next])} for event ${id}`);
      next += 1;
    }
    if (events.length > next)
      this.say(`a reader of run ${runId} was given ${events.length - next} events too many`);
  }

  /** A turn as logged. */
  history(requestId: string): History {
    const { events, records } = this.#run(this.requests.get(requestId)?.runId ?? "");
    return toHistory(events, records, requestId);
  }

  /** The open questions of a request, by event id. */
  openWaits(requestId: string): readonly number[] {
    if (this.requests.get(requestId)?.end !== undefined) return [];
    return openWaits(this.history(requestId)).map(([, waitId]) => waitId);
  }

  #run(runId: string): LoggedRun {
    const known = this.runs.get(runId);
    if (known) return known;
    const run: LoggedRun = { texts: [], events: [], records: [], removed: false, hidden: false };
    this.runs.set(runId, run);
    return run;
  }

  #record(runId: string, run: LoggedRun, record: LogRecord): void {
    run.records.push(record);
    if (record.type.startsWith("Config") && JSON.stringify(record).includes(SECRET))
      this.say(`a secret stands in the log of run ${runId}`);
    if (record.n !== run.records.length)
      this.say(`record ${run.records.length} of run ${runId} has the number ${record.n}`);
    this.#awaited(record["until"]);
    if (record.type !== "Accepted") return;
    const { requestId, agent, request } = record["accepted"] as unknown as AcceptedRequest;
    if (this.requests.has(requestId)) this.say(`${requestId} was accepted twice`);
    // A remote agent that is requested directly is started by the request.
    const { program } = request.input as { readonly program?: number };
    if (agent === "remote")
      this.#deeds.set(String(program), { times: 0, attempts: 1, settled: false, earlier: [] });
    this.requests.set(requestId, { runId, texts: [], waits: new Set(), answered: new Set() });
  }

  #event(runId: string, run: LoggedRun, text: string): void {
    const event = JSON.parse(text) as Event;
    run.texts.push(text);
    if (text.includes(SECRET)) this.say(`a secret stands in the log of run ${runId}: ${text}`);
    run.events.push(event);
    if (event.id !== run.texts.length || event.run_id !== runId)
      this.say(`event ${run.texts.length} of run ${runId} is ${text}`);
    if (event.forked_from !== undefined || event.request_id === null) return;
    const request = this.requests.get(event.request_id);
    if (request?.runId !== runId) {
      this.say(`run ${runId} has an event of a request that it has not accepted: ${text}`);
      return;
    }
    this.#turn(request, event, text);
  }

  #turn(request: LoggedRequest, event: Event, text: string): void {
    const wrong = (what: string): void => this.say(`${event.request_id}: ${what}: ${text}`);
    request.texts.push(text);
    if (request.end) wrong("something follows its end");
    if ((event.type === "RequestStarted" && event.depth === 0) !== (request.start === undefined))
      wrong("it does not begin once");
    request.start ??= event;
    switch (event.type) {
      case "RequestCompleted":
        if (event.depth === 0) request.end = event;
        return;
      case "WaitForInput":
        request.waits.add(event.id);
        this.#awaited(event.expires_at && Date.parse(event.expires_at));
        return;
      case "WaitExpired":
      case "ResumeWithInput":
        if (!request.waits.has(event.wait_id)) wrong("it answers no wait");
        if (request.answered.has(event.wait_id)) wrong("it answers a wait again");
        request.answered.add(event.wait_id);
        return;
      case "ToolCall": {
        const { function_name: name, args, attempt = 1, tool_call_id: callId } = event;
        const { key, program } = args as { readonly key?: string; readonly program?: number };
        this.#begun(
          `${event.request_id} ${callId}`,
          { key: key ?? String(program ?? name), attempt, most: this.#mostAttempts(event) },
          wrong,
        );
        return;
      }
      case "CompletionCall":
        this.#begun(
          `${event.request_id} ${event.call_id}`,
          { key: event.model, attempt: event.attempt, most: this.#mostAttempts(event) },
          wrong,
        );
        return;
      case "ToolResult":
      case "ToolError":
        this.#settled(`${event.request_id} ${event.tool_call_id}`, wrong);
        return;
      case "CompletionResult":
        this.#settled(`${event.request_id} ${event.call_id}`, wrong);
        return;
      default:
        return;
    }
  }

  #awaited(untilMs: unknown): void {
    if (typeof untilMs === "number" && untilMs % MINUTE_MS === 0)
      this.#lastMinuteMs = Math.max(this.#lastMinuteMs, untilMs);
  }

  #mostAttempts({ run_id: runId, request_id: requestId }: Event): number {
    return 3 + countSpared(this.#run(runId).records, String(requestId));
  }

  /** An outside effect starts, with a name that its code knows. */
  #begun(
    id: string,
    { key, attempt, most }: { readonly key: string; readonly attempt: number; readonly most: number },
    wrong: (what: string) => void,
  ): void {
    const before = this.#deeds.get(key);
    const earlier = before === undefined ? [] : [...before.earlier, before];
    const deed = this.#calls.get(id) ?? { times: 0, attempts: 0, settled: false, earlier };
    this.#calls.set(id, deed);
    this.#deeds.set(key, deed);
    deed.attempts += 1;
    if (attempt !== deed.attempts || attempt > most) wrong("it is not the next attempt");
    if (deed.settled) wrong("it is tried again after its outcome");
  }

  #settled(id: string, wrong: (what: string) => void): void {
    const deed = this.#calls.get(id);
    if (deed === undefined || deed.settled) wrong("a call has not one outcome");
    else deed.settled = true;
  }
}

const MINUTE_MS = 60_000;
