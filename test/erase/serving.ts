// The configuration of the servers of this room: limits, receivers that never answer, and a foreign sender.
import type { LimitsOfOwner } from "troupe";
import { webhook } from "troupe/webhooks";
import type { PushOptions, WebhookOptions } from "troupe/webhooks";

export const owners: LimitsOfOwner = (owner) =>
  owner === "acme" ? { tokensPerDay: 50, budgetApprovers: ["user"] } : {};

export const webhooks: readonly WebhookOptions[] = [
  {
    name: "away",
    url: "http://127.0.0.1:9",
    on: ["wait", "end"],
    owner: "acme",
    secret: `whsec_${Buffer.alloc(32, "a test").toString("base64")}`,
    allowPrivate: true,
  },
];

export const push: PushOptions = { allowPrivate: true };

export const adapters = [
  webhook({
    name: "shop",
    agent: "clerk",
    owner: "acme",
    verify: () => true,
    toRequest: ({ body }) => ({ id: body, operation: "ask", input: { text: body } }),
  }),
];
