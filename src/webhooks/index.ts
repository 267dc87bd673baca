export { createWebhooks } from "./create-webhooks.ts";
export type { PushOptions, WebhookOptions, Webhooks, WebhookTopic } from "./create-webhooks.ts";
export { hmacSignature, webhook } from "./webhook.ts";
export type { ForeignDelivery, ForeignRequest, HmacSignature, WebhookInOptions } from "./webhook.ts";
