import type { Adapter } from "../../http/adapter.ts";
import { readJson } from "../../http/messages/body.ts";
import { reply, replyEmpty } from "../../http/messages/reply.ts";
import { perHost } from "../../http/routes/host.ts";
import { acceptMessage } from "./accept.ts";
import { parseUiRequest } from "./body.ts";
import { cancelChat, findChat, openMessage } from "./chat.ts";
import type { ChatService } from "./chat.ts";
import { streamMessage } from "./stream.ts";

const NAME = "ui";
const BASE = `/${NAME}`;

/** Serves agents over the UI message stream of the AI SDK, which `useChat` reads with its default transport. */
export function ui(): Adapter {
  return {
    name: NAME,
    roots: [NAME],
    owns: (path) => path === BASE || path.startsWith(`${BASE}/`),
    // A page gets the text of a refusal as the message of its error.
    toRefusal: ({ message, details: { hint } }) => ({
      body: hint === undefined ? message : `${message}; ${hint}`,
      type: "text/plain; charset=utf-8",
    }),
    headers: { response: ["x-vercel-ai-ui-message-stream"] },
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
      const serviceOf = perHost(shared, (host): ChatService => ({ host, agent }));
      const path = `${BASE}/${agent}`;
      app.post(path, async (c) => {
        const service = serviceOf(c);
        const request = parseUiRequest(await readJson(c, service.host.bodyLimitBytes));
        const artifacts = mount.addressOf(c, "/artifacts/");
        return streamMessage(c, service, { find: () => acceptMessage(service, request, artifacts) });
      });
      app.get(`${path}/:id/stream`, async (c) => {
        const service = serviceOf(c);
        const place = await openMessage(service, await findChat(service, c.req.param("id")));
        if (place === undefined) return replyEmpty(c);
        return streamMessage(c, service, { id: place.requestId, find: async () => place });
      });
      app.post(`${path}/:id/stop`, async (c) => {
        const service = serviceOf(c);
        await cancelChat(service, await findChat(service, c.req.param("id")));
        return replyEmpty(c);
      });
    },
  };
}

const ROUTES = ["POST {agent}", "GET {agent}/{id}/stream", "POST {agent}/{id}/stop"];
