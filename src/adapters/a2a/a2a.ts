import { AgentCard } from "@a2a-js/sdk";
import { LegacyRestTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { ServerCallContext } from "@a2a-js/sdk/server";
import type { Context } from "hono";
import type { Adapter } from "../../http/adapter.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { reply } from "../../http/messages/reply.ts";
import type { SharedHost } from "../../http/routes/host.ts";
import { ANONYMOUS } from "../../ports/principal.ts";
import { toCard } from "./card.ts";
import { TaskHandler } from "./handler.ts";
import { WIRE } from "./place.ts";
import { toTaskRefusal } from "./refusal.ts";
import { answerRest } from "./rest.ts";
import { answerRpc } from "./rpc.ts";

const BASE = `/${WIRE}`;
const CARD = "/.well-known/agent-card.json";

/** Serves agents over A2A: their cards, JSON-RPC in the versions 1.0 and 0.3, and HTTP with JSON in 1.0. */
export function a2a(): Adapter {
  return {
    name: WIRE,
    roots: [WIRE, ".well-known"],
    owns: (path) => path === CARD || path === BASE || path.startsWith(`${BASE}/`),
    // The protocol demands it. A card has names, descriptions and addresses alone.
    open: (path) => path === CARD || (path.startsWith(`${BASE}/`) && path.endsWith(CARD)),
    toRefusal: toTaskRefusal,
    headers: { request: ["a2a-version", "a2a-extensions"] },
    addRoutes(app, shared, { agent }) {
      if (agent === undefined) {
        app.get(CARD, (c) => sendCard(c, shared, shared.runtime.defaultAgent));
        return;
      }
      const path = `${BASE}/${agent}`;
      app.get(path + CARD, (c) => sendCard(c, shared, agent));
      const open = (c: Context<AppEnv>) => {
        const service = { c, host: shared.as(c), agent };
        return { service, handler: new TaskHandler(service, () => cardOf(c, shared, agent)) };
      };
      app.post(path, (c) => {
        const { service, handler } = open(c);
        return answerRpc(service, handler);
      });
      app.on(["GET", "POST", "DELETE"], `${path}/v1/:path{.+}`, (c) => {
        const { service, handler } = open(c);
        return answerRest(service, handler);
      });
    },
  };
}

/** The card of an agent is the same for everyone. */
function cardOf(c: Context<AppEnv>, shared: SharedHost, agent: string): AgentCard {
  return toCard(shared.as(c, ANONYMOUS).runtime.describe(agent), {
    address: shared.mount.addressOf(c, `${BASE}/${agent}`),
    isGuarded: shared.authenticate !== undefined,
  });
}

/** Clients of 0.3 name no version, and get their own form of a card with the addresses of 1.0 beside it. */
async function sendCard(c: Context<AppEnv>, shared: SharedHost, agent: string): Promise<Response> {
  const card = cardOf(c, shared, agent);
  const current = AgentCard.toJSON(card) as { readonly supportedInterfaces: unknown };
  const headers = { vary: "a2a-version" };
  if (c.req.header("a2a-version") === "1.0") return reply(c, JSON.stringify(current), { headers });
  const legacy = new LegacyRestTransportHandler({
    getAuthenticatedExtendedAgentCard: async () => card,
  } as unknown as ConstructorParameters<typeof LegacyRestTransportHandler>[0]);
  const old = await legacy.getAuthenticatedExtendedAgentCard(new ServerCallContext());
  const { supportedInterfaces } = current;
  return reply(c, JSON.stringify({ ...old, supportedInterfaces }), { headers });
}
