import type { Adapter } from "../../http/adapter.ts";
import { reply } from "../../http/messages/reply.ts";
import { completeChat, RUN_HEADER } from "./chat-routes.ts";
import { findModel, modelsOf, toModelObject } from "./models.ts";
import { cancelResponse, respond, deleteResponse, getResponse, listInputItems } from "./response-routes.ts";
import { toRefusal } from "./refusal.ts";
import { IDEMPOTENCY_HEADER } from "./start-turn.ts";

const BASE = "/v1";

/** Serves every agent as a model over the API of OpenAI: Chat Completions and Responses. */
export function openai(): Adapter {
  return {
    name: "openai",
    roots: [BASE.slice(1)],
    owns: (path) => path === BASE || path.startsWith(`${BASE}/`),
    toRefusal,
    headers: { request: [RUN_HEADER, IDEMPOTENCY_HEADER, ...CLIENT_HEADERS], response: [RUN_HEADER] },
    addRoutes(app, shared, { agent }) {
      if (agent !== undefined) return;
      app.get(`${BASE}/models`, (c) => {
        const data = modelsOf(shared.as(c).runtime).map(toModelObject);
        return reply(c, JSON.stringify({ object: "list", data }));
      });
      app.get(`${BASE}/models/:model{.+}`, (c) =>
        reply(c, JSON.stringify(toModelObject(findModel(shared.as(c).runtime, c.req.param("model"))))),
      );
      app.post(`${BASE}/chat/completions`, (c) => completeChat(c, shared.as(c)));
      const response = `${BASE}/responses/:id`;
      app.post(`${BASE}/responses`, (c) => respond(c, shared.as(c)));
      app.get(response, (c) => getResponse(c, shared.as(c)));
      app.delete(response, (c) => deleteResponse(c, shared.as(c)));
      app.get(`${response}/input_items`, (c) => listInputItems(c, shared.as(c)));
      app.post(`${response}/cancel`, (c) => cancelResponse(c, shared.as(c)));
    },
  };
}

/** What the client in a page sends with each request. */
const CLIENT_HEADERS = [
  "openai-organization",
  "openai-project",
  ...[
    "arch",
    "helper-method",
    "lang",
    "os",
    "package-version",
    "poll-helper",
    "retry-count",
    "runtime",
    "runtime-version",
    "timeout",
  ].map((name) => `x-stainless-${name}`),
];
