import type { Context } from "hono";
import type { AgentError } from "../../errors.ts";
import type { Adapter } from "../../http/adapter.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { readJson } from "../../http/messages/body.ts";
import type { Refusal } from "../../http/messages/refusal.ts";
import { reply, replyEmpty } from "../../http/messages/reply.ts";
import { perHost } from "../../http/routes/host.ts";
import { acceptInput } from "./accept.ts";
import { parseRunInput } from "./input.ts";
import { streamRun } from "./stream.ts";
import { cancelThread, findBegun, findNewest, NAME, openThread } from "./thread.ts";
import type { ThreadService } from "./thread.ts";
import { findEncoding } from "./encoding.ts";
import type { AgUiEvent } from "./event.ts";

const BASE = `/${NAME}`;

/** How AG-UI is served. */
export interface AgUiOptions {
  /** Whether the memory of the agent is sent at the end of each turn, for pages that show it as their state. Default false. */
  readonly state?: boolean;
}

/** Serves agents over AG-UI, which pages of CopilotKit and others speak. */
export function agUi({ state = false }: AgUiOptions = {}): Adapter {
  return {
    name: NAME,
    roots: [NAME],
    owns: (path) => path === BASE || path.startsWith(`${BASE}/`),
    toRefusal,
    addRoutes(app, shared, { agent }) {
      const { mount } = shared;
      if (agent === undefined) {
        app.get(BASE, (c) => {
          const prefix = mount.prefixOf(c) + BASE;
          const agents = shared.as(c).runtime.agents.map((name) => ({ name, path: `${prefix}/${name}` }));
          return reply(c, JSON.stringify({ name: NAME, agents, routes: ROUTES }));
        });
        return;
      }
      const serviceOf = perHost(shared, (host): ThreadService => ({ host, agent, state }));
      const path = `${BASE}/${agent}`;
      app.post(path, async (c) => {
        const encoding = await findEncoding(c.req.header("accept"));
        if (encoding === undefined) return refuseType(c);
        const service = serviceOf(c);
        const input = parseRunInput(await readJson(c, service.host.bodyLimitBytes));
        const artifacts = mount.addressOf(c, "/artifacts/");
        return streamRun(c, service, { encoding, find: () => acceptInput(service, input, artifacts) });
      });
      app.get(`${path}/:thread`, async (c) => {
        const encoding = await findEncoding(c.req.header("accept"));
        if (encoding === undefined) return refuseType(c);
        const service = serviceOf(c);
        const threadId = c.req.param("thread");
        const runId = c.req.query("runId");
        const run = await openThread(service, { threadId, runId: runId ?? "" });
        const place = await (runId === undefined ? findNewest(run) : findBegun(run));
        if (place === undefined) return replyEmpty(c);
        return streamRun(c, service, { encoding, find: async () => place });
      });
      app.post(`${path}/:thread/stop`, async (c) => {
        await cancelThread(serviceOf(c), c.req.param("thread"));
        return replyEmpty(c);
      });
    },
  };
}

const ROUTES = ["POST {agent}", "GET {agent}/{threadId}", "POST {agent}/{threadId}/stop"];

function toRefusal({ code, message, details: { hint } }: AgentError): Refusal {
  const text = hint === undefined ? message : `${message}; ${hint}`;
  const event: AgUiEvent = { type: "RUN_ERROR", message: text, code };
  return { body: JSON.stringify(event) };
}

function refuseType(c: Context<AppEnv>): Response {
  const event: AgUiEvent = {
    type: "RUN_ERROR",
    message:
      "the events are sent as text/event-stream, which the request does not accept; the binary form needs the package @ag-ui/encoder",
    code: "not_acceptable",
  };
  return reply(c, JSON.stringify(event), { status: 406 });
}
