import { AgentError } from "../../errors.ts";
import { seesAll } from "../../ports/principal.ts";
import { whyNotReady } from "../../runtime/readiness.ts";
import { schemas } from "../../protocol/schema/json-schema.ts";
import { pathParameter } from "./add-routes.ts";
import type { ServerHandlers } from "./add-routes.ts";
import { principalOf } from "./host.ts";
import type { SharedHost } from "./host.ts";
import { LruMap } from "../../shared/lru-map.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createOpenApi } from "../openapi/document.ts";
import { reply } from "../messages/reply.ts";

/** State that only the server's own routes need. */
export interface ServerState {
  readonly metrics: Metrics;
  readonly isStopping: () => boolean;
}

/** The agents of the server and its interface, as a principal sees them. */
export function describingHandlers(shared: SharedHost): ServerHandlers<"agents" | "openApi"> {
  const documents = new LruMap<string, string>(DOCUMENTS);
  return {
    agents(c) {
      const prefix = shared.mount.prefixOf(c);
      const agents = shared.as(c).runtime.agents.map((name) => ({ name, path: `${prefix}/${name}` }));
      const asked = c.req.query("format") === "pairs" ? agents.map(({ name, path }) => [name, path]) : agents;
      // A browser gets the console at the same address, if the server has one.
      return reply(c, JSON.stringify(asked), { headers: { vary: "Accept, Origin" } });
    },

    openApi(c) {
      const { agents } = shared.as(c).runtime;
      const name = agents.join(" ");
      const document = documents.get(name) ?? JSON.stringify(createOpenApi(agents));
      documents.set(name, document);
      return reply(c, document);
    },
  };
}

/** How many documents are kept; without a rule of the application, everyone gets the same one. */
const DOCUMENTS = 10;

/** What is the same for everyone: schemas and health. */
export function serverHandlers(
  { runtime }: SharedHost,
  { metrics, isStopping }: ServerState,
): ServerHandlers<"schema" | "health" | "readiness" | "metrics"> {
  return {
    schema(c) {
      const file = pathParameter(c, "name");
      const name = /^(\w+)\.json$/.exec(file)?.[1] ?? "";
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
      if (schema === undefined) {
        throw new AgentError("not_found", `there is no schema ${JSON.stringify(file.slice(0, 64))}`, {
          hint: `the schemas are ${Object.keys(schemas).join(", ")}; append .json to the name`,
        });
      }
      return reply(c, JSON.stringify(schema), { type: "application/schema+json" });
    },

    health(c) {
      const { durability, log, activeRuns, activeTurns } = runtime.health();
      return reply(
        c,
        JSON.stringify({ status: "ok", durability, log, active_runs: activeRuns, active_turns: activeTurns }),
      );
    },

    readiness(c) {
      const parts = runtime.readiness.parts();
      const reason = isStopping() ? "the server is stopping" : whyNotReady(parts);
      if (reason !== undefined) throw new AgentError("unavailable", reason, { facts: { parts } });
      const isDegraded = parts.some(({ state }) => state === "degraded");
      return reply(c, JSON.stringify({ status: isDegraded ? "degraded" : "ok", parts }));
    },

    async metrics(c) {
      const principal = principalOf(c);
      if (!seesAll(principal))
        throw new AgentError("forbidden", `${principal.id} may not see the metrics`, {
          hint: "it needs the role operator",
        });
      return reply(c, await metrics.text(), { type: metrics.contentType });
    },
  };
}
