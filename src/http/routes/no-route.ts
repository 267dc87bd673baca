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

/** Finds the cause: the method, the agent's name, or the path. */
export function explainNoRoute(c: Context<AppEnv>, app: Hono<AppEnv>, runtime: Runtime): NoRoute {
  const { method, path } = c.req;
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  const methods = METHODS.filter((candidate) => hasRoute(app, candidate, path));
  if (methods.length > 0) {
    const allow = methods.flatMap((served) => (served === "GET" ? ["GET", "HEAD"] : [served])).join(", ");
    const error = new AgentError("method_not_allowed", `${shown} takes ${allow}, not ${method}`);
    return { error, headers: { allow } };
  }
  const [, agent = "", route] = path.split("/");
  if (route !== undefined && endpoints.includes(route) && !runtime.agents.includes(agent)) {
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
