import { AgentError } from "../../errors.ts";
import type { Adapter } from "../../http/adapter.ts";
import { readJson } from "../../http/messages/body.ts";
import { reply } from "../../http/messages/reply.ts";
import { RunReader } from "../../view/run-reader.ts";
import { perHost } from "../../http/routes/host.ts";
import type { Host } from "../../http/routes/host.ts";
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
  const readers = new WeakMap<Host, RunReader>();

  /** The views of the runs of a principal, which all agents share. */
  function readerOf(host: Host): RunReader {
    const reader = readers.get(host) ?? new RunReader(host.runtime);
    readers.set(host, reader);
    return reader;
  }

  return {
    name: NAME,
    roots: base === "" ? ["_discovery", "login"] : [base.slice(1)],
    owns: (path) => base === "" || path === base || path.startsWith(`${base}/`),
    open: (path) => path === login,
    toRefusal: ({ message, details: { hint } }) => ({
      body: JSON.stringify({ detail: hint === undefined ? message : `${message}; ${hint}` }),
    }),
    addRoutes(app, shared, { path, agent }) {
      const { bodyLimitBytes } = shared;
      if (agent === undefined) {
        app.get(`${base}/_discovery`, (c) =>
          reply(c, JSON.stringify(shared.as(c).runtime.agents.map((name) => `/${name}`))),
        );
        app.post(login, async (c) => {
          const { password } = parseLogin(await readJson(c, bodyLimitBytes, { optional: true }));
          if (shared.authenticate === undefined)
            return reply(c, JSON.stringify({ token: crypto.randomUUID() }));
          if (password === undefined)
            throw new AgentError(
              "unauthorized",
              "this server has a token, and the login brings no password",
              {
                hint: "send the token as password; a page that cannot keeps the token as auth_token in its local storage",
              },
            );
          await shared.authenticate(c, password);
          return reply(c, JSON.stringify({ token: password }));
        });
        return;
      }
      const serviceOf = perHost(shared, (host): AgenticService => ({ host, agent, reader: readerOf(host) }));
      const place = base + path;
      app.get(`${place}/describe`, (c) => {
        const { name, purpose, operations, tools } = shared.as(c).runtime.describe(agent);
        const names = operations.map((operation) => operation.name);
        return reply(
          c,
          JSON.stringify({ name, purpose, endpoints: ENDPOINTS, operations: names, tools, prompts: {} }),
        );
      });
      app.post(`${place}/process`, (c) => startThreadTurn(c, serviceOf(c)));
      app.post(`${place}/resume`, (c) => answerThread(c, serviceOf(c)));
      app.post(`${place}/reset`, (c) => resetThread(c, serviceOf(c)));
      app.get(`${place}/getevents`, (c) => getEvents(c, serviceOf(c)));
      app.get(`${place}/threads`, (c) => listThreads(c, serviceOf(c)));
      app.get(`${place}/threads/:thread_id/logs`, (c) => threadLogs(c, serviceOf(c)));
    },
  };
}

const ENDPOINTS = ["/process", "/resume", "/reset", "/getevents", "/describe", "/threads"];
