import type { Hono } from "hono";
import { AgentError } from "../../errors.ts";
import { schemas } from "../../protocol/json-schema.ts";
import type { AppEnv } from "../messages/app-env.ts";
import type { Host } from "./host.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createOpenApi } from "../openapi/document.ts";
import { reply } from "../messages/reply.ts";

/** State that only the server's own routes need. */
export interface ServerState {
  readonly metrics: Metrics;
  readonly isStopping: () => boolean;
}

/** Adds the routes of the server: its agents, its interface, its health. */
export function addServerRoutes(
  app: Hono<AppEnv>,
  { runtime, mount }: Host,
  { metrics, isStopping }: ServerState,
): void {
  app.get("/", (c) => {
    const prefix = mount.prefixOf(c);
    const agents = runtime.agents.map((name) => ({ name, path: `${prefix}/${name}` }));
    const asked = c.req.query("format") === "pairs" ? agents.map(({ name, path }) => [name, path]) : agents;
    return reply(c, JSON.stringify(asked));
  });

  let openApi: string | undefined;
  app.get("/openapi.json", (c) => {
    openApi ??= JSON.stringify(createOpenApi(runtime.agents));
    return reply(c, openApi);
  });

  app.get("/schemas/:file", (c) => {
    const name = /^(\w+)\.json$/.exec(c.req.param("file"))?.[1] ?? "";
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    if (schema === undefined) {
      throw new AgentError(
        "not_found",
        `there is no schema ${JSON.stringify(c.req.param("file").slice(0, 64))}`,
        {
          hint: `the schemas are ${Object.keys(schemas).join(", ")}; append .json to the name`,
        },
      );
    }
    return reply(c, JSON.stringify(schema), { type: "application/schema+json" });
  });

  app.get("/healthz", (c) => {
    const { durability, log, activeRuns, activeTurns } = runtime.health();
    return reply(
      c,
      JSON.stringify({ status: "ok", durability, log, active_runs: activeRuns, active_turns: activeTurns }),
    );
  });

  app.get("/readyz", (c) => {
    const { ready, closing, log } = runtime.health();
    if (closing || isStopping()) throw new AgentError("unavailable", "the server is stopping");
    if (!ready) throw new AgentError("unavailable", "the server is still resuming interrupted turns");
    if (!log.writable)
      throw new AgentError("unavailable", log.reason ?? "the log cannot be written at present");
    return reply(c, JSON.stringify({ status: "ok" }));
  });

  app.get("/metrics", async (c) => reply(c, await metrics.text(), { type: metrics.contentType }));
}
