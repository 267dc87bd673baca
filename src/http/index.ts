export { createApp } from "./app.ts";
export type { AppOptions } from "./app.ts";
export type { AppEnv } from "./app-env.ts";
export type { GuardOptions } from "./guards.ts";
export { createMetrics } from "./metrics.ts";
export type { Metrics, MetricsOptions } from "./metrics.ts";
export type { StreamOptions } from "./streams.ts";
