import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import { isKey } from "../../protocol/ids.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { parseScheduleRequest } from "../../protocol/requests/schedule.ts";
import type { SchedulesQuery } from "../../runtime/lists.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { readJson } from "../messages/body.ts";
import { nextPage, parseName, queryOf, read } from "../messages/event-query.ts";
import { reply, replyEmpty } from "../messages/reply.ts";
import { pathParameter } from "./add-routes.ts";
import type { AgentHandlers, ServerHandlers } from "./add-routes.ts";
import { checkId } from "./event-routes.ts";
import type { Host, Place } from "./host.ts";
import { PAGE_DEFAULT, PAGE_LIMIT, parseLimit } from "./run-routes.ts";

/** The routes that list and make schedules; below an agent's path, only those of its actors. */
export function schedulesHandlers(
  { runtime, mount, bodyLimitBytes }: Host,
  { agent }: Place,
): AgentHandlers<"schedules" | "makeSchedule"> {
  return {
    async schedules(c) {
      const query = queryOf(c);
      const { schedules, next } = await runtime.schedules.list(toQuery(query, agent));
      const headers =
        next === undefined ? undefined : { link: nextPage(mount.pathOf(c), query, "cursor", next) };
      return reply(c, JSON.stringify(schedules), headers && { headers });
    },

    async makeSchedule(c) {
      const parsed = parseScheduleRequest(await readJson(c, bodyLimitBytes));
      if (!parsed.ok) throw new AgentError("invalid_request", parsed.message, { issues: parsed.issues });
      const made = await runtime.schedules.make(agent ?? runtime.defaultAgent, parsed.value);
      return reply(c, JSON.stringify(made));
    },
  };
}

/** The routes of one schedule. */
export function oneScheduleHandlers({
  runtime: { schedules },
}: Host): ServerHandlers<"pauseSchedule" | "resumeSchedule" | "runSchedule" | "removeSchedule"> {
  return {
    pauseSchedule: async (c) => reply(c, JSON.stringify(await schedules.pause(...placeOf(c)))),
    resumeSchedule: async (c) => reply(c, JSON.stringify(await schedules.resume(...placeOf(c)))),
    async runSchedule(c) {
      const given = queryOf(c).get("request_id");
      const named = given === null ? {} : { requestId: checkId(given) as RequestId };
      const { requestId } = await schedules.run(...placeOf(c), named);
      return reply(c, JSON.stringify({ request_id: requestId }), { status: 202 });
    },
    async removeSchedule(c) {
      await schedules.remove(...placeOf(c));
      return replyEmpty(c);
    },
  };
}

function placeOf(c: Context<AppEnv>): [runId: RunId, id: string] {
  const id = pathParameter(c, "schedule_id");
  if (!isKey(id)) throw new AgentError("invalid_request", `${JSON.stringify(id)} is no id of a schedule`);
  return [checkId(pathParameter(c, "run_id")), id];
}

function toQuery(query: URLSearchParams, servedAgent: string | undefined): SchedulesQuery {
  const agent = servedAgent ?? read(query, "agent", parseName);
  const runId = query.get("run_id");
  const key = read(query, "key", parseName);
  const owner = read(query, "owner", parseName);
  const cursor = read(query, "cursor", parseName);
  const limit = read(query, "limit", parseLimit) ?? PAGE_DEFAULT;
  return {
    limit: Math.min(limit, PAGE_LIMIT),
    ...(agent !== undefined && { agent }),
    ...(owner !== undefined && { owner }),
    ...(key !== undefined && { key }),
    ...(runId !== null && { runId: checkId(runId) }),
    ...(cursor !== undefined && { cursor }),
  };
}
