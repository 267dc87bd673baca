import { createRuntime } from "troupe";
import type { Runtime } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import type { ManualEnvironment } from "troupe/testing";
import { createWebhooks } from "troupe/webhooks";
import type { WebhookOptions } from "troupe/webhooks";
import { expect } from "vitest";
import { asker, speaker } from "./agents.ts";

/** A server with webhooks. */
export interface Started extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly url: string;
}

/** A server with webhooks on a data directory. */
export async function start(
  directory: string,
  endpoints: readonly WebhookOptions[],
  environment: ManualEnvironment,
): Promise<Started> {
  const hooks = createWebhooks(endpoints);
  const runtime = createRuntime({
    agents: [asker, speaker, hooks.agent],
    log: sqliteLog(directory),
    environment,
    // While a request is on its way, the time that a test lets pass counts as time in which the turn works.
    limits: { turnMs: 1e12 },
  });
  await runtime.ready();
  const server = await serve(runtime, { drain: false, listeners: [hooks] });
  return {
    runtime,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 0 });
      await runtime.close();
    },
  };
}

/** Lets time pass in steps until something is true. */
export async function pass(
  environment: ManualEnvironment,
  isDone: () => boolean | Promise<boolean>,
  stepMs: number = 1_000,
): Promise<void> {
  await expect
    .poll(
      async () => {
        await environment.advance(stepMs);
        return isDone();
      },
      { interval: 10 },
    )
    .toBe(true);
}
