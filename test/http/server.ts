import { createRuntime } from "troupe";
import type { Agent, Environment, Runtime } from "troupe";
import { createApp } from "troupe/http";
import type { AppOptions } from "troupe/http";
import { echo } from "../../agents/echo.ts";
import { payments } from "../../agents/payments.ts";
import { ticker } from "../../agents/ticker.ts";

/** The server under test. */
export type App = ReturnType<typeof createApp>;

/** An app with real agents on a memory log; closed after the test. */
export async function startApp(
  options: AppOptions = {},
  agents: readonly Agent[] = [echo, payments, ticker],
  environment?: Environment,
): Promise<{ readonly app: App; readonly runtime: Runtime } & AsyncDisposable> {
  const runtime = createRuntime({ agents, ...(environment && { environment }) });
  await runtime.ready();
  const app = createApp(runtime, options);
  return { app, runtime, [Symbol.asyncDispose]: () => runtime.close() };
}

/** Routes that are no part of the protocol: pages for browsers, and what admins read of a server. */
export const besideProtocol: readonly string[] = [
  "GET /answer-links/:token",
  "GET /answer-links/signed-in",
  "GET /inspect/open-turns",
  "GET /inspect/runs/:run_id/recording",
  "POST /answer-links/:token",
  "POST /answer-links/signed-in",
];

/** The routes of an app as `METHOD /path`, with parameters as `:name`. A handler for all methods is a guard. */
export function routesOf({ routes }: App): readonly string[] {
  return routes.filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`);
}

/** Posts a JSON body. */
export async function post(
  app: App,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return app.request(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
}

/** The body of an answer as JSON of any type. */
export async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

/** Starts a turn and returns its RequestStarted. */
export async function start(
  app: App,
  path: string,
  input: string,
): Promise<{ run_id: string; request_id: string }> {
  const answer = await post(app, `${path}/process?wait=true`, { type: "ChatRequest", input });
  return (await answer.json()) as { run_id: string; request_id: string };
}
