import { AgentError } from "../../errors.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Parsed } from "../../protocol/requests/parse.ts";
import { parsePublication, parseTopicName } from "../../protocol/requests/topic.ts";
import { topic } from "../../runtime/agent/topic.ts";
import { readJson } from "../messages/body.ts";
import { nextPage, parseName, queryOf, read } from "../messages/event-query.ts";
import { reply } from "../messages/reply.ts";
import { pathParameter } from "./add-routes.ts";
import type { ServerHandlers } from "./add-routes.ts";
import type { Host } from "./host.ts";
import { PAGE_DEFAULT, PAGE_LIMIT, parseLimit } from "./run-routes.ts";

/** The routes of topics. What is published is followed as the events of its run. */
export function topicHandlers({
  runtime,
  mount,
  bodyLimitBytes,
}: Host): ServerHandlers<"topics" | "openTopic" | "topic" | "newestPublications" | "publish"> {
  return {
    async topics(c) {
      const query = queryOf(c);
      const owner = read(query, "owner", parseName);
      const cursor = read(query, "cursor", parseName);
      const limit = read(query, "limit", parseLimit) ?? PAGE_DEFAULT;
      const { topics, next } = await runtime.topics.list({
        limit: Math.min(limit, PAGE_LIMIT),
        ...(owner !== undefined && { owner }),
        ...(cursor !== undefined && { cursor }),
      });
      const headers =
        next === undefined ? undefined : { link: nextPage(mount.pathOf(c), query, "cursor", next) };
      return reply(c, JSON.stringify(topics), headers && { headers });
    },

    async openTopic(c) {
      const { name } = toGiven(parseTopicName(await readJson(c, bodyLimitBytes)));
      return reply(c, JSON.stringify(await runtime.topics.open(name)));
    },

    topic: async (c) => reply(c, JSON.stringify(await runtime.topics.get(pathParameter(c, "topic")))),

    newestPublications: async (c) =>
      reply(c, JSON.stringify(await runtime.topics.newest(pathParameter(c, "topic")))),

    async publish(c) {
      const to = topic(pathParameter(c, "topic"));
      const given = toGiven(parsePublication(await readJson(c, bodyLimitBytes)));
      const { name, body = null, request_id: id } = given;
      const named = id === undefined ? {} : { requestId: id as RequestId };
      const { requestId, runId } = await runtime.publish(to, name, body, named);
      return reply(c, JSON.stringify({ request_id: requestId, run_id: runId }), { status: 202 });
    },
  };
}

function toGiven<Given>(parsed: Parsed<Given>): Given {
  if (parsed.ok) return parsed.value;
  throw new AgentError("invalid_request", parsed.message, { issues: parsed.issues });
}
