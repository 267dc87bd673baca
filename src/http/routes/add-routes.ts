import type { Context, Hono } from "hono";
import { AgentError } from "../../errors.ts";
import type { agentRoutes, Routes, serverRoutes } from "../../protocol/routes.ts";
import type { AppEnv } from "../messages/app-env.ts";

/** Answers the requests of one route. */
export type Handler = (c: Context<AppEnv>) => Response | Promise<Response>;

/** Handlers of routes of the server, by the names of the route table. */
export type ServerHandlers<Name extends keyof typeof serverRoutes = keyof typeof serverRoutes> = {
  readonly [name in Name]: Handler;
};

/** Handlers of routes of an agent, by the names of the route table. */
export type AgentHandlers<Name extends keyof typeof agentRoutes = keyof typeof agentRoutes> = {
  readonly [name in Name]: Handler;
};

/** Adds routes of the table below a path. The handlers of a request are those of its principal. */
export function addRoutes<Name extends string>(
  app: Hono<AppEnv>,
  prefix: string,
  routes: Routes<Name>,
  handlersOf: (c: Context<AppEnv>) => { readonly [name in NoInfer<Name>]: Handler },
): void {
  for (const name of Object.keys(routes) as Name[]) {
    const [method, path] = routes[name];
    app.on(method, prefix + toPattern(path), (c) => handlersOf(c)[name](c));
  }
}

/** A parameter of the path, by its name in the route table. */
export function pathParameter(c: Context<AppEnv>, name: string): string {
  const value = c.req.param(name);
  if (value === undefined) throw new AgentError("internal", `the route has no parameter ${name}`);
  return value;
}

/** The path as a pattern of Hono. A parameter is its whole segment, so `{name}.json` contains the ending. */
function toPattern(path: string): string {
  return path.replace(/\{(\w+)\}[^/]*/g, ":$1");
}
