import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { toAgentError } from "../../errors.ts";
import { createMetrics } from "../../http/metrics/metrics.ts";
import type { Metrics } from "../../http/metrics/metrics.ts";
import { readConsole } from "../../node/console.ts";
import { nodeEnvironment } from "../../node/environment.ts";
import { serve } from "../../node/serve.ts";
import type { Server } from "../../node/serve.ts";
import { superviseProcess } from "../../node/supervise.ts";
import type { TurnError } from "../../protocol/events/events.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import type { Runtime } from "../../runtime/api.ts";
import { createRuntime } from "../../runtime/runtime.ts";
import { EXIT, Exit } from "../exit.ts";
import { openListeners } from "./listeners.ts";
import type { Log } from "../print/log.ts";
import { openData } from "./open-data.ts";
import { explained } from "../logs/explained.ts";
import { toOpenRouter } from "./open-router.ts";
import type { ServerOptions } from "./server-options.ts";
import { openWires } from "./wires.ts";
import { PID_NOTE, URL_NOTE, writeNote } from "./write-note.ts";

/** A runtime with a data directory, and its HTTP server. */
export interface StartedServer {
  readonly runtime: Runtime;
  readonly server: Server;
}

const DAY_MS = 86_400_000;

/** Opens the event log and serves agents; resolves when open turns continue. */
export async function startServer(
  options: ServerOptions,
  agents: readonly Agent[],
  lines: Log,
): Promise<StartedServer> {
  const { retainDays, retainMb } = options;
  const metrics = withRequests(
    createMetrics({ log: (message, thrown, facts) => lines.fault(message, thrown, { ...facts }) }),
    lines,
  );
  const openRouter = toOpenRouter(options, lines);
  const { log, artifacts, secrets } = await openData(options);
  for (const warning of log.health().warnings ?? []) lines.fault(warning);
  const runtime = createRuntime({
    agents,
    log,
    artifacts,
    secrets,
    router: openRouter(log),
    environment: nodeEnvironment(),
    telemetry: metrics,
    ...(retainDays !== undefined && { retainMs: retainDays * DAY_MS }),
    ...(retainMb !== undefined && { retainBytes: retainMb * 1_000_000 }),
  });
  superviseProcess(runtime, { telemetry: metrics });
  const ready = explained(() => runtime.ready());
  ready.catch(() => {});
  try {
    const server = await listen(runtime, options, metrics);
    noteUrl(options, server.url);
    await ready;
    return { runtime, server };
  } catch (thrown) {
    await runtime.close({ drainMs: 0 });
    throw thrown;
  }
}

/** Notes where the server is, for the other commands. With a database its data directory has only these notes. */
function noteUrl({ data, log }: ServerOptions, url: string): void {
  try {
    if (log !== undefined) {
      mkdirSync(data, { recursive: true, mode: 0o700 });
      writeNote(join(data, PID_NOTE), String(process.pid));
    }
    writeNote(join(data, URL_NOTE), url);
  } catch (thrown) {
    if (log === undefined) throw thrown;
  }
}

/** Metrics that also log each request when it ends. */
function withRequests(metrics: Metrics, { info }: Log): Metrics {
  return {
    ...metrics,
    completed(agent, reason, ms, request) {
      metrics.completed(agent, reason, ms, request);
      const { runId, requestId, error } = request;
      const end = error === undefined ? reason : `${error.code}: ${error.message}`;
      info(`request ${requestId} of ${agent} ended with ${end}`, {
        agent,
        run_id: runId,
        request_id: requestId,
        finish_reason: reason,
        ms: Math.round(ms),
        ...(error !== undefined && CODE_CHANGED.has(error.code) && { hint: CODE_CHANGED_HINT }),
      });
    },
  };
}

const CODE_CHANGED: ReadonlySet<TurnError["code"]> = new Set(["nondeterministic", "version_mismatch"]);
const CODE_CHANGED_HINT =
  "the agent's code changed while the request was open, or takes another path when it runs again; a new version of the agent with `compatible` says which open requests may continue";

async function listen(runtime: Runtime, options: ServerOptions, metrics: Metrics): Promise<Server> {
  const { host, port, allowedHost, allowedOrigin, trustProxy } = options;
  const token = process.env["TROUPE_TOKEN"] ?? "";
  try {
    const common = {
      hostname: host,
      allowedHosts: allowedHost,
      allowedOrigins: allowedOrigin,
      trustProxy,
      ...(token !== "" && { token }),
    };
    return await serve(runtime, {
      ...common,
      port,
      // The command decides how its process ends.
      drain: false,
      metrics,
      ...(options.console && { console: await readConsole() }),
      adapters: await openWires(options.wires),
      listeners: await openListeners(options, common),
    });
  } catch (thrown) {
    const { code, message, cause, details } = toAgentError(thrown);
    if (code === "forbidden" || code === "invalid_request") {
      throw new Exit(EXIT.refused, message, details.hint);
    }
    if (code !== "unavailable") throw thrown;
    const taken = (cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";
    const hint = taken ? `try --port ${await findFreePort(host, port + 1)}` : details.hint;
    throw new Exit(EXIT.unavailable, message, hint);
  }
}

/** The first free port from a given one up; 0, which means any free port, if there is none. */
async function findFreePort(host: string, port: number): Promise<number> {
  if (port > 65_535) return 0;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = createServer()
    .once("error", () => resolve(false))
    .listen({ host, port }, () => probe.close(() => resolve(true)));
  return (await promise) ? port : findFreePort(host, port + 1);
}
