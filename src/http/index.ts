export { createApp } from "./app.ts";
export type { AppOptions } from "./app.ts";
export type { AppEnv } from "./messages/app-env.ts";
export type { GuardOptions } from "./guards/guards.ts";
export { createMetrics } from "./metrics/metrics.ts";
export type { Metrics, MetricsOptions } from "./metrics/metrics.ts";
export type { StreamOptions } from "./sse/open-streams.ts";
