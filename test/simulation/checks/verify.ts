import { idOf } from "../../../src/protocol/events/encode.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { toBeginning } from "../../../src/runtime/replay/beginning.ts";
import { checkActors, checkOutboxes } from "../../laws/checks/actors.ts";
import { findMistimed } from "../../laws/checks/schedules.ts";
import { isParked, toEntries } from "../../laws/history.ts";
import { carriedInto, checkMessages } from "../../laws/messages.ts";
import { checkInvariants, compareWithPrograms } from "../../laws/checks/verify-turn.ts";
import { Model } from "../../laws/model.ts";
import type { Kept } from "../../laws/model.ts";
import type { Programs } from "../../laws/program.ts";
import { remotePart } from "../remote/part.ts";
import { GUIDE } from "../agents/guide.ts";
import type { Invocation, Client } from "../clients/client.ts";
import type { Shared } from "../clients/client-actions.ts";
import { findMisconfigured } from "../clients/settings.ts";
import { findWrongCharts } from "./verify-charts.ts";
import { findWrongRenewals } from "./verify-renewals.ts";
import { findUnsteered } from "./verify-guides.ts";
import { findWrongTimes } from "./verify-cron.ts";
import { verifyStorage } from "./verify-storage.ts";
import type { StoredData } from "./verify-storage.ts";
import type { Observer } from "./observer.ts";
import type { WallClocks } from "../processes/wall-clock.ts";

/** The data that is checked at the end. */
export interface Quiescence {
  readonly observer: Observer;
  readonly clients: readonly Client[];
  readonly shared: Pick<Shared, "readers" | "programs" | "given" | "messages">;
  readonly hosts: StoredData & { readonly clock: WallClocks };
  /** The memory of a run after each verified turn, by request. */
  readonly judged: Map<string, Kept>;
  readonly disk: { readonly log: EventLog; readonly writable: boolean };
}

/** Checks that every request has ended, or waits for a client that has left. */
export async function verify(
  rest: Quiescence,
  { finished = false }: { readonly finished?: boolean } = {},
): Promise<void> {
  const { observer, clients, disk } = rest;
  const { faults } = observer;
  if (!disk.writable) faults.push("the disk was never repaired");
  for (const { asked } of clients)
    for (const one of asked) faults.push(...whatIsLeft(one, observer, finished));
  for (const { runId, cursor } of rest.shared.readers) {
    const run = observer.runs.get(runId);
    if (run?.removed === false && cursor !== run.texts.length)
      faults.push(`a reader of run ${runId} is at ${cursor} of ${run.texts.length}`);
  }
  await verifyLog(rest);
  await verifyStorage(rest);
  faults.push(...(await findWrongRenewals(rest)));
  faults.push(...checkActors(observer.runs), ...(await checkOutboxes(disk.log)));
  faults.push(...findMistimed(observer, rest.hosts.clock.backMs), ...findWrongTimes(observer));
  faults.push(...findUnsteered(observer), ...findWrongCharts(observer), ...verifyMessages(rest));
  const kept = new Map<string, Kept>();
  for (const runId of observer.runs.keys()) verifyRun(rest, runId, kept);
}

function whatIsLeft(asked: Invocation, { requests, runs }: Observer, finished: boolean): readonly string[] {
  const { requestId, doing, open } = asked;
  const truth = requests.get(requestId);
  const at = `the client of ${requestId}, which ${doing}`;
  if (asked.refused === true) {
    if (asked.isUncertain === true) return [];
    // An accepted request whose client had no answer before the run was removed is refused as gone.
    const isGone = truth !== undefined && runs.get(truth.runId)?.removed === true;
    return truth === undefined || isGone ? [] : [`${requestId} was refused and is in the log`];
  }
  if (truth === undefined) return [`${at}: it is not in the log`];
  if (truth.end !== undefined) return doing === "is done" || open.size > 0 ? [] : [`${at}: it has ended`];
  if (!finished && (doing === "leaves it open" || truth.start === undefined)) return [];
  return [`${at}: it has no end`];
}

/** The log equals the observed appends, except for a beginning that was removed, and its index agrees. */
async function verifyLog({ observer, disk: { log } }: Quiescence): Promise<void> {
  const { faults } = observer;
  for (const [runId, { texts, records, removed }] of observer.runs) {
    const { events, records: found, base } = await log.read(runId, { after: 0, records: true });
    const kept = base ? toBeginning(base) : { events: [], records: [] };
    const wanted = removed ? [] : texts.slice(base?.head ?? 0);
    const isWhole = toEncoded(events).join("\n") === wanted.join("\n");
    if (!isWhole || kept.events.some((text) => texts[idOf(text) - 1] !== text))
      faults.push(`run ${runId} does not have the events that were written to it`);
    const count = (base?.records ?? 0) + found.length;
    if (!removed && count !== records.length)
      faults.push(`run ${runId} has ${count} of ${records.length} records`);
  }
  for (const [requestId, { runId, end }] of observer.requests) {
    if (observer.runs.get(runId)?.removed === true) continue;
    const entry = await log.lookup(requestId);
    if ((entry?.phase === "completed") !== (end !== undefined))
      faults.push(`${requestId} is ${String(entry?.phase)} in the index`);
    if (end === undefined && entry?.phase === "running")
      faults.push(`${requestId} is parked, and running in the index`);
  }
}

/** Each acknowledged message is in the log of its run, and is read at most once, in order. */
function verifyMessages({ observer, shared }: Quiescence): readonly string[] {
  const faults: string[] = [];
  const received = new Set<string>();
  for (const [runId, { events, records }] of observer.runs) {
    faults.push(...checkMessages(toEntries(events, records)).map((fault) => `run ${runId}: ${fault}`));
    const carried = carriedInto({ events, records }, observer.runs);
    for (const event of events) {
      if (event.type !== "MessageReceived" || event.forked_from || carried.delete(event.message_id)) continue;
      if (received.has(event.message_id)) faults.push(`${event.message_id} was received in two runs`);
      received.add(event.message_id);
    }
  }
  for (const messageId of shared.messages.keys())
    if (!received.has(messageId)) faults.push(`${messageId} is lost`);
  return faults;
}

/** Every turn of a run did what its programs say. */
function verifyRun(rest: Quiescence, runId: string, keptAfter: Map<string, Kept>): void {
  const { observer, judged, shared } = rest;
  const run = observer.runs.get(runId);
  let kept: Kept = { root: null, keeper: null };
  for (const event of run?.events ?? []) {
    const { forked_from: from } = event;
    if (from) kept = keptAfter.get(`${from.run_id} ${from.id}`) ?? kept;
    if (event.type === "RunCreated" && event.continues) kept = keptAfter.get(event.continues) ?? kept;
    if (event.type !== "RequestStarted" || event.depth > 0 || from) continue;
    const requestId = event.request_id as string;
    const own = shared.programs.get(requestId);
    const truth = observer.requests.get(requestId);
    if (UNPROGRAMMED.has(event.agent)) continue;
    if (event.agent === "remote") verifyRemote(rest, requestId);
    else if (own === undefined) observer.faults.push(...whatIsWrongWithMachine(observer, requestId));
    else kept = judged.get(requestId) ?? verifyTurn(rest, requestId, own, kept);
    if (truth?.end === undefined) continue;
    judged.set(requestId, kept);
    keptAfter.set(`${runId} ${truth.end.id}`, kept);
    keptAfter.set(runId, kept);
  }
}

/** The agents whose turns have a check of their own. */
const UNPROGRAMMED: ReadonlySet<string> = new Set(["talker", "clerk", "chart", "noter", GUIDE]);

function verifyTurn(
  { observer, shared }: Quiescence,
  requestId: string,
  programs: Programs,
  kept: Kept,
): Kept {
  const history = observer.history(requestId);
  const given = shared.given.get(requestId);
  const say = (what: string): number => observer.faults.push(`${requestId}: ${what}`);
  for (const fault of compareWithPrograms(programs, history, kept, given)) say(fault);
  for (const fault of findMisconfigured(observer, given?.acknowledged ?? new Map(), history)) say(fault);
  const end = observer.requests.get(requestId)?.end;
  if (end === undefined) {
    if (!isParked(history)) say("it has no work left and does not wait");
    return kept;
  }
  for (const fault of checkInvariants(history)) say(fault);
  if (wasPoisoned(observer, requestId)) return kept;
  const model = new Model(programs, history, kept, given);
  const isCanceled = history.events.some(({ type }) => type === "CancelRequest");
  const expected = { returned: "success", threw: "error", blocked: undefined }[model.root().state];
  if (end.finish_reason !== (isCanceled ? "canceled" : expected)) say(`it ended with ${JSON.stringify(end)}`);
  return end.finish_reason === "success" ? model.kept() : kept;
}

/** The events of a remote agent in the log equal its programmed steps. */
function verifyRemote({ observer }: Quiescence, requestId: string): void {
  const history = observer.history(requestId);
  const [started, end] = [history.events[0], observer.requests.get(requestId)?.end];
  const { program } = (started?.type === "RequestStarted" ? started.input : {}) as {
    readonly program: number;
  };
  const { items, ok, value } = remotePart(program);
  const say = (what: string): number => observer.faults.push(`${requestId}: ${what}`);
  const done = (history.items.get(history.root) ?? []).map(({ what }) => what);
  const isGivenUp = end?.finish_reason === "canceled" || wasPoisoned(observer, requestId);
  const isWhole = end !== undefined && !isGivenUp;
  if (JSON.stringify(done) !== JSON.stringify(isWhole ? items : items.slice(0, done.length)))
    say(`it did ${JSON.stringify(done)} and not ${JSON.stringify(items)}`);
  if (end === undefined && !isParked(history)) say("it has no work left and does not wait");
  if (!isWhole) return;
  for (const fault of checkInvariants(history)) say(fault);
  const isRight = end.finish_reason === (ok ? "success" : "error");
  if (!isRight || (ok && JSON.stringify(end.output) !== JSON.stringify(value)))
    say(`it ended with ${JSON.stringify(end)}`);
}

/** Whether a turn was ended after three continuations without progress. */
function wasPoisoned(observer: Observer, requestId: string): boolean {
  const truth = observer.requests.get(requestId);
  const recoveries = observer.runs
    .get(truth?.runId ?? "")
    ?.records.filter(({ type, request_id }) => type === "RecoveryStarted" && request_id === requestId);
  return truth?.end?.error?.code === "poisoned" && recoveries?.at(-1)?.["count"] === 3;
}

/** A machine sends each text once, in order. */
function whatIsWrongWithMachine(observer: Observer, requestId: string): readonly string[] {
  const { events } = observer.history(requestId);
  const said = events
    .map((event) => (event.type === "TextOutput" ? event.content.trim() : ""))
    .join(" ")
    .trim();
  const text = said.replaceAll(/ +/g, " ");
  const end = observer.requests.get(requestId)?.end;
  const whole = /^working (?:worked|failed) rested going on$/;
  const isGivenUp = end?.finish_reason === "canceled" || wasPoisoned(observer, requestId);
  const parts = [
    "",
    "working",
    "working worked",
    "working failed",
    "working worked rested",
    "working failed rested",
  ];
  if (whole.test(text) || (parts.includes(text) && (end === undefined || isGivenUp))) return [];
  return [`${requestId}: the machine said ${JSON.stringify(text)} and ended with ${JSON.stringify(end)}`];
}
