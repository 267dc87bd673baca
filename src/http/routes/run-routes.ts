import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { RunPhase, RunStatus } from "../../protocol/answers/status.ts";
import type { FinishReason } from "../../protocol/events/outcome-codes.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { parseErasure } from "../../protocol/requests/erasure.ts";
import type { Parsed } from "../../protocol/requests/parse.ts";
import { parseFlag } from "../../protocol/requests/parse.ts";
import type { ErasedThings, ForkPlace, Runtime } from "../../runtime/api.ts";
import { byteLength } from "../../runtime/journal/json-limits.ts";
import type { RunDetails, RunsPage, RunsQuery, WaitsQuery, WatchRunsOptions } from "../../runtime/lists.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { readJson } from "../messages/body.ts";
import {
  nextPage,
  parseCount,
  parseMoment,
  parseName,
  parseText,
  queryOf,
  read,
} from "../messages/event-query.ts";
import { reply, replyEmpty } from "../messages/reply.ts";
import { rowFormat } from "../sse/format.ts";
import { replyWithStream } from "../sse/reply-with-stream.ts";
import { pathParameter } from "./add-routes.ts";
import type { AgentHandlers, ServerHandlers } from "./add-routes.ts";
import { checkId, unknown } from "./event-routes.ts";
import type { Host, Place } from "./host.ts";

/** The routes that show requests and runs; below an agent's path, only its own. */
export function runHandlers(host: Host, { agent }: Place): AgentHandlers<"request" | "runs" | "waits"> {
  const { runtime, mount } = host;
  return {
    async request(c) {
      const requestId = checkId(pathParameter(c, "request_id")) as RequestId;
      const status = await runtime.status(requestId);
      if (agent !== undefined && status.agent !== agent) throw unknown(requestId, agent);
      return reply(c, JSON.stringify(status));
    },

    async runs(c) {
      const query = queryOf(c);
      if (read(query, "stream", parseFlag) === true) return streamRuns(c, host, toWatched(query, agent));
      const key = read(query, "key", parseName);
      if (key !== undefined) {
        return reply(c, await runOfKey(runtime, agent ?? read(query, "agent", parseName), key));
      }
      const { json, next, total } = await readRunsPage(runtime, toRunsQuery(query, agent));
      const headers = {
        ...(next !== undefined && { link: nextPage(mount.pathOf(c), query, "cursor", next) }),
        ...(total !== undefined && { "total-count": total }),
      };
      return reply(c, json, { headers });
    },

    async waits(c) {
      const query = queryOf(c);
      const page = await runtime.waits(toWaitsQuery(query, agent));
      const { events, next } = page;
      const total = toTotalText(page);
      const headers = {
        ...(next !== undefined && { link: nextPage(mount.pathOf(c), query, "cursor", next) }),
        ...(total !== undefined && { "total-count": total }),
      };
      return reply(c, `[${events.join(",")}]`, { headers });
    },
  };
}

/** `12`, or `10000+` where counting has stopped; `undefined` if the list is not counted. */
function toTotalText({ total, isTotalCut }: Pick<RunsPage, "total" | "isTotalCut">): string | undefined {
  return total === undefined ? undefined : `${total}${isTotalCut === true ? "+" : ""}`;
}

function streamRuns(c: Context<AppEnv>, host: Host, watched: WatchRunsOptions): Promise<Response> {
  return replyWithStream(c, host, {
    id: undefined,
    open: async (signal) => ({
      after: undefined,
      feed: host.runtime.watchRuns({ ...watched, signal }),
      format: rowFormat,
    }),
  });
}

/** The run with a key as a list, which is empty if there is none. */
async function runOfKey(runtime: Runtime, agent: string | undefined, key: string): Promise<string> {
  if (agent === undefined) {
    throw new AgentError("invalid_request", "a key is one of an agent", {
      hint: "ask below the agent's path, or name it with agent=",
    });
  }
  const runId = await runtime.find(agent, key);
  return runId === undefined ? "[]" : `[${toRunText(await runtime.run(runId))}]`;
}

/** The routes of one run. */
export function oneRunHandlers({
  runtime,
  bodyLimitBytes,
  mount,
}: Host): ServerHandlers<
  | "run"
  | "removeRun"
  | "forkRun"
  | "retryRun"
  | "endRun"
  | "resumeRun"
  | "erase"
  | "deadLetters"
  | "sendAgain"
  | "dismiss"
> {
  return {
    async run(c) {
      const runId = checkId(pathParameter(c, "run_id"));
      const { metadata: _, ...summary } = await runtime.run(runId);
      const status: RunStatus = { ...summary, requests: await runtime.requests(runId) };
      return reply(c, JSON.stringify(status));
    },

    async forkRun(c) {
      const source = checkId(pathParameter(c, "run_id")) as RunId;
      const body = await readJson(c, bodyLimitBytes);
      const point = parseForkPlace(body);
      const runId = await runtime.fork(source, point, { takesKey: parseTakesKey(body) });
      const id = point.after ?? point.waitId - 1;
      const forked = { run_id: runId, forked_from: { run_id: source, id } };
      const location = `${mount.prefixOf(c)}/events/${runId}`;
      return reply(c, JSON.stringify(forked), { status: 201, headers: { location } });
    },

    async retryRun(c) {
      const runId = checkId(pathParameter(c, "run_id")) as RunId;
      return reply(c, JSON.stringify({ tried: await runtime.retryHeld({ runId }) }), { status: 202 });
    },

    async endRun(c) {
      const { event = "{}" } = await runtime.endHeld(checkId(pathParameter(c, "run_id")));
      return reply(c, event);
    },

    async resumeRun(c) {
      await runtime.resume(checkId(pathParameter(c, "run_id")));
      return replyEmpty(c);
    },

    async deadLetters(c) {
      return reply(c, JSON.stringify(await runtime.deadLetters()));
    },

    async sendAgain(c) {
      const runId = checkId(pathParameter(c, "run_id"));
      const { requestId } = await runtime.sendAgain(runId, checkId(pathParameter(c, "request_id")));
      return reply(c, JSON.stringify({ request_id: requestId }), { status: 202 });
    },

    async dismiss(c) {
      await runtime.dismiss(checkId(pathParameter(c, "run_id")), checkId(pathParameter(c, "request_id")));
      return replyEmpty(c);
    },

    async removeRun(c) {
      await runtime.removeRun(checkId(pathParameter(c, "run_id")));
      return replyEmpty(c);
    },

    async erase(c) {
      if (c.get("principal")?.roles.includes("admin") !== true) {
        throw new AgentError("forbidden", "only an admin may erase");
      }
      const runs = await runtime.erase(toErased(await readJson(c, bodyLimitBytes)));
      return reply(c, JSON.stringify({ runs }));
    },
  };
}

function toErased(body: unknown): ErasedThings {
  const parsed = parseErasure(body);
  if (!parsed.ok) throw new AgentError("invalid_request", parsed.message, { issues: parsed.issues });
  const { run_id: runId, ...rest } = parsed.value;
  return { ...rest, ...(runId !== undefined && { runId }) };
}

function parseForkPlace(body: unknown): ForkPlace {
  const { after, wait_id: waitId } = Object(body) as { readonly after?: unknown; readonly wait_id?: unknown };
  if (waitId === undefined && isEventId(after)) return { after };
  if (after === undefined && isEventId(waitId) && waitId > 0) return { waitId };
  throw new AgentError(
    "invalid_request",
    "give after, the id of an event or 0, or wait_id, that of a question",
    {
      issues: [
        waitId === undefined
          ? { path: "after", message: "must be a whole number of 0 or more" }
          : { path: "wait_id", message: "must be a whole number of 1 or more, without after" },
      ],
    },
  );
}

function parseTakesKey(body: unknown): boolean {
  const { takes_key: takesKey = false } = Object(body) as { readonly takes_key?: unknown };
  if (typeof takesKey === "boolean") return takesKey;
  throw new AgentError("invalid_request", "takes_key must be true or false", {
    issues: [{ path: "takes_key", message: "must be true or false" }],
  });
}

function isEventId(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

export const PAGE_DEFAULT: number = 100;
export const PAGE_LIMIT: number = 1_000;

function toRunsQuery(query: URLSearchParams, servedAgent: string | undefined): RunsQuery {
  const agent = servedAgent ?? read(query, "agent", parseName);
  const status = read(query, "status", parsePhase);
  const finishReason = read(query, "finish_reason", parseFinish);
  const text = read(query, "q", parseText);
  const owner = read(query, "owner", parseName);
  const errorCode = read(query, "error_code", parseName);
  const updatedAfter = read(query, "updated_after", parseMoment);
  const metadata = read(query, "metadata", parsePair);
  const order = read(query, "order", parseOrder);
  const total = read(query, "total", parseTotal);
  const cursor = read(query, "cursor", parseName);
  const limit = read(query, "limit", parseLimit) ?? PAGE_DEFAULT;
  return {
    limit: Math.min(limit, PAGE_LIMIT),
    ...(owner !== undefined && { owner }),
    ...(errorCode !== undefined && { errorCode }),
    ...(updatedAfter !== undefined && { updatedAfter }),
    ...(metadata !== undefined && { metadata }),
    ...(order !== undefined && { order }),
    ...(total !== undefined && { total }),
    ...(agent !== undefined && { agent }),
    ...(status !== undefined && { status }),
    ...(finishReason !== undefined && { finishReason }),
    ...(text !== undefined && text !== "" && { text }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** A row that changes can begin or cease to fit other filters, so that a stream has none of them. */
function toWatched(query: URLSearchParams, servedAgent: string | undefined): WatchRunsOptions {
  const refused = ONLY_LISTS.find((name) => query.has(name));
  if (refused !== undefined)
    throw new AgentError("invalid_request", `${refused} is only for lists, not for a stream of runs`, {
      issues: [{ path: refused, message: "cannot be combined with stream" }],
      hint: "leave it out and select among the rows",
    });
  const { agent, limit } = toRunsQuery(query, servedAgent);
  return { limit, ...(agent !== undefined && { agent }) };
}

const ONLY_LISTS = [
  "owner",
  "status",
  "finish_reason",
  "error_code",
  "updated_after",
  "metadata",
  "order",
  "total",
  "q",
  "key",
  "cursor",
];

function toWaitsQuery(query: URLSearchParams, servedAgent: string | undefined): WaitsQuery {
  const agent = servedAgent ?? read(query, "agent", parseName);
  const runId = query.get("run_id");
  const askedBy = read(query, "asked_by", parseName);
  const approver = read(query, "approver", parseName);
  const total = read(query, "total", parseTotal);
  const cursor = read(query, "cursor", parseName);
  const limit = read(query, "limit", parseLimit) ?? PAGE_DEFAULT;
  return {
    limit: Math.min(limit, PAGE_LIMIT),
    ...(agent !== undefined && { agent }),
    ...(runId !== null && { runId: checkId(runId) }),
    ...(askedBy !== undefined && { askedBy }),
    ...(approver !== undefined && { approver }),
    ...(total !== undefined && { total }),
    ...(cursor !== undefined && { cursor }),
  };
}

export function parseLimit(text: string): Parsed<number> {
  const parsed = parseCount(text);
  if (!parsed.ok || parsed.value > 0) return parsed;
  return { ok: false, message: "must be 1 or more", issues: [] };
}

function parsePhase(text: string): Parsed<RunPhase> {
  if (text === "idle" || text === "running" || text === "waiting" || text === "held")
    return { ok: true, value: text };
  return { ok: false, message: "must be idle, running, waiting or held", issues: [] };
}

function parseFinish(text: string): Parsed<FinishReason> {
  if (text === "success" || text === "error" || text === "canceled") return { ok: true, value: text };
  return { ok: false, message: "must be success, error or canceled", issues: [] };
}

function parseTotal(text: string): Parsed<boolean | "all"> {
  if (text === "all") return { ok: true, value: text };
  const flag = parseFlag(text);
  return flag.ok ? flag : { ok: false, message: "must be true, false or all", issues: [] };
}

/** `name=value`. */
function parsePair(text: string): Parsed<Readonly<Record<string, string>>> {
  const at = text.indexOf("=");
  if (at < 1) return { ok: false, message: "must be a name and a value, as in customer=ann", issues: [] };
  return { ok: true, value: { [text.slice(0, at)]: text.slice(at + 1) } };
}

function parseOrder(text: string): Parsed<"updated" | "oldest"> {
  if (text === "updated" || text === "oldest") return { ok: true, value: text };
  return { ok: false, message: "must be updated or oldest", issues: [] };
}

/** A page of the list of runs as JSON text. */
interface RunsText {
  readonly json: string;
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** The number of all runs of the list, if it was asked for and can be counted. */
  readonly total?: string;
}

/** Reads a page of the list of runs: up to a number of runs and of bytes, but at least one run. */
export async function readRunsPage(
  runtime: Pick<Runtime, "runs">,
  { limit, cursor: start, total: counts = false, ...chosen }: RunsQuery,
): Promise<RunsText> {
  const texts: string[] = [];
  let room = PAGE_BYTES - 2;
  let piece = PIECE;
  let cursor = start;
  let total: string | undefined;

  for (;;) {
    const asked = Math.min(piece, limit - texts.length);
    const asksTotal = counts !== false && total === undefined && { total: counts };
    const page = await runtime.runs({ ...chosen, ...asksTotal, limit: asked, ...(cursor && { cursor }) });
    const { runs, next } = page;
    total ??= toTotalText(page);
    const found = runs.map(toRunText);
    const fitting = countFitting(found, room);
    if (fitting === found.length || (asked === 1 && texts.length === 0)) {
      texts.push(...found);
      for (const text of found) room -= sizeOf(text);
      cursor = next;
      // A search that found fewer has looked at as many runs as one page may.
      const isLast = texts.length >= limit || found.length < asked;
      if (next === undefined || isLast) return toText(texts, next, total);
    } else if (fitting === 0 && texts.length > 0) {
      return toText(texts, cursor, total);
    } else {
      // Only the list knows the cursor of the next page, so the list is read again for the runs that fit.
      piece = Math.max(fitting, 1);
    }
  }
}

/** A run as clients get it. Its metadata is only for adapters. */
function toRunText({ metadata: _metadata, ...summary }: RunDetails): string {
  return JSON.stringify(summary);
}

const PAGE_BYTES = 1_048_576;

/** Reads few runs at a time, so that even the largest ones need little memory. */
const PIECE = 32;

function countFitting(texts: readonly string[], room: number): number {
  let bytes = 0;
  const index = texts.findIndex((text) => (bytes += sizeOf(text)) > room);
  return index === -1 ? texts.length : index;
}

/** The size of a text and its comma. */
function sizeOf(text: string): number {
  return byteLength(text) + 1;
}

function toText(texts: readonly string[], next: string | undefined, total: string | undefined): RunsText {
  return {
    json: `[${texts.join(",")}]`,
    ...(next !== undefined && { next }),
    ...(total !== undefined && { total }),
  };
}
