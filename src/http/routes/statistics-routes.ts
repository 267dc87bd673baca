import { AgentError } from "../../errors.ts";
import { STATISTICS_BY } from "../../ports/statistics.ts";
import type { StatisticsBy } from "../../ports/statistics.ts";
import type { Parsed } from "../../protocol/requests/parse.ts";
import { parseName, parseMoment, queryOf, read } from "../messages/event-query.ts";
import { reply } from "../messages/reply.ts";
import type { ServerHandlers } from "./add-routes.ts";
import type { Host } from "./host.ts";

/** The route that says what turns and completions have done and used. */
export function statisticsHandlers({ runtime }: Host): ServerHandlers<"statistics"> {
  return {
    async statistics(c) {
      const query = queryOf(c);
      const since = read(query, "since", parseMoment);
      const until = read(query, "until", parseMoment);
      const owner = read(query, "owner", parseName);
      const agent = read(query, "agent", parseName);
      if (since !== undefined && until !== undefined && since >= until)
        throw new AgentError("invalid_request", "since must be before until");
      const answer = await runtime.statistics({
        by: read(query, "by", parseBy) ?? "agent",
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
        ...(owner !== undefined && { owner }),
        ...(agent !== undefined && { agent }),
      });
      return reply(c, JSON.stringify(answer));
    },
  };
}

function parseBy(text: string): Parsed<StatisticsBy> {
  const by = STATISTICS_BY.find((known) => known === text);
  if (by !== undefined) return { ok: true, value: by };
  return { ok: false, message: `must be one of ${STATISTICS_BY.join(", ")}`, issues: [] };
}
