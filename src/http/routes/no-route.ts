import type { Context, Hono } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import { endpoints } from "../../protocol/routes.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { AppEnv } from "../messages/app-env.ts";

/** Why no route matches a request, and the headers of the answer. */
export interface NoRoute {
  readonly error: AgentError;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Finds the cause: the method, the agent's name, or the path. `roots` are the first segments of adapters' routes. */
export function explainNoRoute(
  c: Context<AppEnv>,
  app: Hono<AppEnv>,
  runtime: Runtime,
  roots: readonly string[],
): NoRoute {
  const { method, path } = c.req;
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  const methods = METHODS.filter((candidate) => hasRoute(app, candidate, path));
  // A route with the method of the request has passed it on.
  if (methods.length > 0 && !methods.includes(method)) {
    const allow = methods.flatMap((served) => (served === "GET" ? ["GET", "HEAD"] : [served])).join(", ");
    const error = new AgentError("method_not_allowed", `${shown} takes ${allow}, not ${method}`);
    return { error, headers: { allow } };
  }
  const [, agent = "", route] = path.split("/");
  const isAgentRoute = route !== undefined && (endpoints.includes(route) || roots.includes(route));
  if (isAgentRoute && !runtime.agents.includes(agent) && !roots.includes(agent)) {
    return { error: unknownAgent(runtime, agent) };
  }
  const hint = "GET / lists the agents, GET /openapi.json all routes";
  return { error: new AgentError("not_found", `there is no route ${shown}`, { hint }) };
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

function hasRoute(app: Hono<AppEnv>, method: string, path: string): boolean {
  const [matches] = app.router.match(method, path);
  // A handler for all methods is a guard, not a route.
  return matches.some(([[, route]]) => route.method === method);
}

function unknownAgent(runtime: Runtime, agent: string): AgentError {
  try {
    runtime.describe(agent);
  } catch (thrown) {
    return toAgentError(thrown);
  }
  return new AgentError("not_found", `there is no agent ${agent}`);
}
