import type { Adapter } from "../../http/adapter.ts";
import { AgentError } from "../../errors.ts";
import { reply } from "../../http/messages/reply.ts";
import { perHost } from "../../http/routes/host.ts";
import type { ServedRuntime } from "../../http/routes/host.ts";
import { whyNotReady } from "../../runtime/readiness.ts";
import type { AgentScopeService } from "./routes/accept-request.ts";
import type { AgentScopeOptions } from "./routes/options.ts";
import { processRequest, processShared, sessionStream } from "./routes/process-routes.ts";
import { stopSession } from "./routes/stop-session.ts";
import { readTask, submitTask } from "./routes/task-routes.ts";
import type { Refusal } from "../../http/messages/refusal.ts";

const NAME = "agentscope";
const BASE = `/${NAME}`;

/** Serves agents over the Agent API protocol of AgentScope. */
export function agentscope(options: AgentScopeOptions = {}): Adapter {
  const { root = true } = options;
  return {
    name: NAME,
    roots: [NAME],
    owns: (path) => path === BASE || path.startsWith(`${BASE}/`) || (root && OWN_AT_ROOT.test(path)),
    open: (path) => HEALTH.test(path),
    toRefusal,
    addRoutes(app, shared, { agent }) {
      const { runtime } = shared;
      const isAtRoot = agent === undefined;
      const serviceOf = perHost(shared, (host): AgentScopeService => ({
        host,
        agent: agent ?? runtime.defaultAgent,
        isAtRoot,
        options,
      }));
      const bases = agent === undefined ? (root ? [BASE, ""] : [BASE]) : [`${BASE}/${agent}`];
      for (const base of bases) {
        const path = `${base}/process`;
        if (base === "") app.post(path, (c, next) => processShared(c, next, serviceOf(c), NAME));
        else app.post(path, (c) => processRequest(c, serviceOf(c)));
        app.post(`${path}/task`, (c) => submitTask(c, serviceOf(c)));
        app.get(`${path}/task/:task_id`, (c) => readTask(c, serviceOf(c)));
        app.get(`${path}/sessions/:session_id/stream`, (c) => sessionStream(c, serviceOf(c)));
        app.post(`${base}/stop`, (c) => stopSession(c, serviceOf(c)));
        for (const probe of PROBES) {
          app.get(`${base}/${probe}`, (c) => {
            if (probe === "readiness") checkReady(runtime);
            return reply(c, '{"status":"healthy"}');
          });
        }
      }
      if (agent !== undefined) return;
      app.get(BASE, (c) => {
        const prefix = shared.mount.prefixOf(c) + BASE;
        const agents = shared.as(c).runtime.agents.map((name) => ({ name, path: `${prefix}/${name}` }));
        return reply(c, JSON.stringify({ name: NAME, agents, routes: ROUTES }));
      });
    },
  };
}

/** Refuses requests that nothing would take. */
function checkReady(runtime: ServedRuntime): void {
  if (whyNotReady(runtime.readiness.parts()) !== undefined)
    throw new AgentError("unavailable", "the server is not ready");
}

const PROBES = ["health", "readiness", "liveness"];

const ROUTES = [
  "POST process",
  "POST process/task",
  "GET process/task/{task_id}",
  "GET process/sessions/{session_id}/stream",
  "POST stop",
  ...PROBES.map((probe) => `GET ${probe}`),
];

/** The whole path: a task can have the name of a probe. */
const HEALTH = /^(?:\/agentscope(?:\/[^/]+)?)?\/(?:health|readiness|liveness)$/;

/** The paths at the root that the native protocol does not have. */
const OWN_AT_ROOT = /^\/(?:process\/(?:task|sessions)(?:\/.*)?|stop|health|readiness|liveness)$/;

/** An error in the words of the protocol; its codes are written in upper case. */
function toRefusal({ code, message, details }: AgentError): Refusal {
  const { hint, issues } = details;
  const error = {
    code: code.toUpperCase(),
    message: hint === undefined ? message : `${message}; ${hint}`,
    ...(issues !== undefined && { errors: issues }),
  };
  return { body: JSON.stringify({ error }) };
}
