import type { Adapter } from "../../http/adapter.ts";
import { readJson } from "../../http/messages/body.ts";
import { reply } from "../../http/messages/reply.ts";
import { RunReader } from "../../view/run-reader.ts";
import type { Runtime } from "../../runtime/api.ts";
import { parseLogin } from "./bodies.ts";
import { getEvents } from "./get-events.ts";
import { startThreadTurn, resetThread, answerThread } from "./requests.ts";
import type { AgenticService } from "./service.ts";
import { listThreads, threadLogs } from "./threads.ts";

/** What `agentic` takes. */
export interface AgenticOptions {
  /** The path under which the protocol is served; empty for a port of its own. Default `/agentic`. */
  readonly base?: string;
}

const NAME = "agentic";

/**
 * Serves agents over the older dialect of the Agent Protocol that its authors' server and browser dashboard speak. Its
 * paths have the names of the native ones, so it has a base path or a port of its own.
 */
export function agentic({ base = `/${NAME}` }: AgenticOptions = {}): Adapter {
  const login = `${base}/login`;
  const readers = new WeakMap<Runtime, RunReader>();
  return {
    name: NAME,
    roots: base === "" ? ["_discovery", "login"] : [base.slice(1)],
    owns: (path) => base === "" || path === base || path.startsWith(`${base}/`),
    open: (path) => path === login,
    toRefusal: ({ message, details: { hint } }) => ({
      body: JSON.stringify({ detail: hint === undefined ? message : `${message}; ${hint}` }),
    }),
    addRoutes(app, host, { path, agent }) {
      const { runtime, bodyLimitBytes } = host;
      if (agent === undefined) {
        app.get(`${base}/_discovery`, (c) =>
          reply(c, JSON.stringify(runtime.agents.map((name) => `/${name}`))),
        );
        app.post(login, async (c) => {
          const { password } = parseLogin(await readJson(c, bodyLimitBytes, { optional: true }));
          if (host.authenticate === undefined)
            return reply(c, JSON.stringify({ token: crypto.randomUUID() }));
          await host.authenticate(c, password ?? "");
          return reply(c, JSON.stringify({ token: password }));
        });
        return;
      }
      const reader = readers.get(runtime) ?? new RunReader(runtime);
      readers.set(runtime, reader);
      const service: AgenticService = { host, agent, reader };
      const place = base + path;
      app.get(`${place}/describe`, (c) => {
        const { name, purpose, operations, tools } = runtime.describe(agent);
        const names = operations.map((operation) => operation.name);
        return reply(
          c,
          JSON.stringify({ name, purpose, endpoints: ENDPOINTS, operations: names, tools, prompts: {} }),
        );
      });
      app.post(`${place}/process`, (c) => startThreadTurn(c, service));
      app.post(`${place}/resume`, (c) => answerThread(c, service));
      app.post(`${place}/reset`, (c) => resetThread(c, service));
      app.get(`${place}/getevents`, (c) => getEvents(c, service));
      app.get(`${place}/threads`, (c) => listThreads(c, service));
      app.get(`${place}/threads/:thread_id/logs`, (c) => threadLogs(c, service));
    },
  };
}

const ENDPOINTS = ["/process", "/resume", "/reset", "/getevents", "/describe", "/threads"];
