export { createWebhooks } from "./create-webhooks.ts";
export type { WebhookOptions, Webhooks, WebhookTopic } from "./create-webhooks.ts";
export { webhook } from "./webhook.ts";
export type { ForeignDelivery, ForeignRequest, WebhookInOptions } from "./webhook.ts";
