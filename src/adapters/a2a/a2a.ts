import { AgentCard } from "@a2a-js/sdk";
import { LegacyRestTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { ServerCallContext } from "@a2a-js/sdk/server";
import type { Context } from "hono";
import type { Adapter } from "../../http/adapter.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import type { Push } from "../../http/push.ts";
import { reply } from "../../http/messages/reply.ts";
import type { SharedHost } from "../../http/routes/host.ts";
import { ANONYMOUS } from "../../ports/principal.ts";
import { toCard } from "./card.ts";
import { TaskHandler } from "./handler.ts";
import { WIRE } from "./place.ts";
import { writeNotification } from "./push.ts";
import { toTaskRefusal } from "./refusal.ts";
import { answerRest } from "./rest.ts";
import { answerRpc } from "./rpc.ts";

const BASE = `/${WIRE}`;
const CARD = "/.well-known/agent-card.json";

/** What A2A can do beside its tasks. */
export interface A2aOptions {
  /** That of the webhooks of the server, which sends the push notifications. Default: there are none. */
  readonly push?: Push;
}

/** Serves agents over A2A: their cards, JSON-RPC in the versions 1.0 and 0.3, and HTTP with JSON in 1.0. */
export function a2a({ push }: A2aOptions = {}): Adapter {
  push?.addWire(WIRE, writeNotification);
  const send = (c: Context<AppEnv>, shared: SharedHost, agent: string): Promise<Response> =>
    sendCard(c, cardOf(c, shared, agent, push !== undefined));
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
        app.get(CARD, (c) => send(c, shared, shared.runtime.defaultAgent));
        return;
      }
      const path = `${BASE}/${agent}`;
      app.get(path + CARD, (c) => send(c, shared, agent));
      const open = (c: Context<AppEnv>) => {
        const service = { c, host: shared.as(c), agent, push };
        return {
          service,
          handler: new TaskHandler(service, () => cardOf(c, shared, agent, push !== undefined)),
        };
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
function cardOf(c: Context<AppEnv>, shared: SharedHost, agent: string, pushes: boolean): AgentCard {
  return toCard(shared.as(c, ANONYMOUS).runtime.describe(agent), {
    address: shared.mount.addressOf(c, `${BASE}/${agent}`),
    isGuarded: shared.authenticate !== undefined,
    pushes,
  });
}

/** Clients of 0.3 name no version, and get their own form of a card with the addresses of 1.0 beside it. */
async function sendCard(c: Context<AppEnv>, card: AgentCard): Promise<Response> {
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
