import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { toAgentError, AgentError } from "../../errors.ts";
import type { AipTls } from "../../adapters/aip/wire/load.ts";
import { anyOf } from "../../auth/any-of.ts";
import { apiKeys } from "../../auth/api-keys.ts";
import { peers } from "../../auth/peers.ts";
import type { ConsolePages } from "../../http/console/pages.ts";
import { sharedToken } from "../../http/guards/shared-token.ts";
import { createMetrics } from "../../http/metrics/metrics.ts";
import type { Metrics } from "../../http/metrics/metrics.ts";
import { readConsole } from "../../node/console.ts";
import { nodeEnvironment } from "../../node/environment.ts";
import { checkToken, serve } from "../../node/serve.ts";
import type { Server, ServeOptions } from "../../node/serve.ts";
import { staticFiles } from "../../node/static-files.ts";
import { superviseProcess } from "../../node/supervise.ts";
import { keepCode } from "../../node/versions/keep-versions.ts";
import type { Authenticate } from "../../ports/principal.ts";
import type { FaultFacts, HeldRequest } from "../../ports/telemetry.ts";
import { placeOfRequest, spanIdOf } from "../../shared/trace-context.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import { createRuntime } from "../../runtime/runtime.ts";
import { closest } from "../closest.ts";
import { EXIT, Exit } from "../exit.ts";
import type { LoadedAgents } from "../load-agents.ts";
import type { Log } from "../print/log.ts";
import type { Webhooks } from "../../webhooks/create-webhooks.ts";
import { explained } from "../logs/explained.ts";
import { findPrices, loadServerConfig } from "./server-config.ts";
import type { ServerConfig } from "./server-config.ts";
import type { ServerOptions } from "./server-options.ts";
import { openWires } from "./wires.ts";
import { PID_NOTE, URL_NOTE, writeNote } from "./write-note.ts";
import type { Store } from "../../node/copy/copy-log.ts";
import { encryptedStores } from "../../storage/encrypted/encrypted-log.ts";
import { sqliteLog } from "../../storage/sqlite/sqlite-log.ts";
import { toConnections } from "../logs/connection.ts";
import { openPostgres, openWithHints, readSecrets, toStore } from "../logs/open-log.ts";
import { clusterRouter } from "../../cluster/cluster-router.ts";
import { localRouter } from "../../cluster/local-router.ts";
import { httpTransport } from "../../node/cluster/http-transport.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Router } from "../../ports/router.ts";
import type { Listener } from "../../node/listener.ts";
import type { ServerExports } from "../../otel/otlp.ts";

/** A runtime with a data directory, and its HTTP server. */
export interface StartedServer {
  readonly runtime: Runtime;
  readonly server: Server;
  /** Sends the last metrics to a collector, if there is one. Call it when both are closed. */
  finish(): Promise<void>;
}

const DAY_MS = 86_400_000;

/** Opens the event log and serves agents; resolves when open turns continue. */
export async function startServer(
  given: ServerOptions,
  { agents, topics, files }: LoadedAgents,
  lines: Log,
): Promise<StartedServer> {
  // The working directory may be removed while the server runs.
  const data = openWithHints(given.data, HINTS, () => resolve(given.data));
  const options: ServerOptions = { ...given, data };
  const { retainDays, retainMb } = options;
  const metrics = withRequests(
    createMetrics({ log: (message, thrown, facts) => lines.fault(message, thrown, { ...facts }) }),
    lines,
  );
  const openRouter = toOpenRouter(options, lines);
  const config = await loadServerConfig(options.config);
  checkDefault(config.defaultAgent, agents);
  const hooks = await openWebhooks(config);
  const { log, artifacts, secrets } = await openData(options);
  for (const warning of log.health().warnings ?? []) lines.fault(warning);
  const versions = await keepCode({
    files,
    folder: options.agents,
    store: options.keepVersions ? log.versions?.() : undefined,
    directory: options.data,
    warn: (message) => lines.warn(message),
  });
  const exports = await openExports(options, metrics);
  const prices = await findPrices(config);
  const runtime = createRuntime({
    agents: hooks === undefined ? agents : [...agents, hooks.agent],
    topics,
    versions,
    ...encryptedStores({ log, artifacts }, config.encryption),
    secrets,
    router: openRouter(log),
    environment: nodeEnvironment(),
    telemetry: metrics,
    ...(config.defaultAgent !== undefined && { defaultAgent: config.defaultAgent }),
    ...(config.authorize && { authorize: config.authorize }),
    ...(config.redact && { redact: config.redact }),
    ...(config.owners && { owners: config.owners }),
    ...(prices && { prices }),
    ...(retainDays !== undefined && { retainMs: retainDays * DAY_MS }),
    ...(retainMb !== undefined && { retainBytes: retainMb * 1_000_000 }),
  });
  superviseProcess(runtime, { telemetry: metrics });
  const ready = explained(() => runtime.ready());
  ready.catch(() => {});
  try {
    const authenticate = toAuthenticate(options, config, secrets);
    const adapters = [...(await openWires(options.wires, { push: hooks?.push })), ...config.adapters];
    const more = {
      authenticate,
      adapters,
      listeners: [...(hooks === undefined ? [] : [hooks]), ...exports.listeners],
    };
    const server = await listen(runtime, options, metrics, more);
    noteUrl(options, server.url);
    await ready;
    return { runtime, server, finish: exports.close };
  } catch (thrown) {
    await runtime.close({ drainMs: 0 });
    throw thrown;
  }
}

/** What exports traces and metrics, if there is a collector. Its packages are loaded only then. */
async function openExports({ otlp }: ServerOptions, metrics: Metrics): Promise<ServerExports> {
  if (otlp === undefined) return { listeners: [], async close() {} };
  const { serverExports } = await import("../../otel/otlp.ts");
  try {
    return await serverExports(otlp, metrics, process.env);
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(EXIT.refused, thrown.message, thrown.details.hint);
  }
}

/** Throws if the configuration names a default agent that is not served. */
function checkDefault(name: string | undefined, agents: readonly Agent[]): void {
  const names = agents.map((agent) => agent.name);
  if (name === undefined || names.includes(name)) return;
  const near = closest(name, names);
  throw new Exit(
    EXIT.refused,
    `the configuration names the default agent ${JSON.stringify(name)}, which no file exports`,
    near === undefined ? `the agents: ${names.join(", ")}` : `did you mean ${near}?`,
  );
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

/** Metrics that also log each request when it ends or is held. */
function withRequests(metrics: Metrics, { info }: Log): Metrics {
  return {
    ...metrics,
    completed(agent, reason, ms, request) {
      metrics.completed(agent, reason, ms, request);
      const { requestId, error } = request;
      const end = error === undefined ? reason : `${error.code}: ${error.message}`;
      info(`request ${requestId} of ${agent} ended with ${end}`, {
        agent,
        ...toFacts(request),
        finish_reason: reason,
        ms: Math.round(ms),
      });
    },
    moved: (message, facts) => info(message, { ...facts }),
    held(agent, reason, request) {
      const { requestId } = request;
      metrics.held?.(agent, reason, request);
      const at = reason.at === undefined ? "" : ` (${reason.at})`;
      info(`request ${requestId} of ${agent} is held with ${reason.code}: ${reason.message}${at}`, {
        agent,
        ...toFacts(request),
        hint: HELD_HINT,
      });
    },
  };
}

/** The ids with which a line is found from a run or a trace, and they from it. */
function toFacts({ runId, requestId, owner, trace }: HeldRequest): FaultFacts {
  return {
    owner,
    run_id: runId,
    request_id: requestId,
    trace_id: placeOfRequest(runId, requestId, trace).traceId,
    span_id: spanIdOf(runId, requestId),
  };
}

const HELD_HINT =
  "serve the code before the change again, or code that takes the same path; end it with troupe runs end";

/** Who may use the server; `undefined` for everyone, which only a server for this machine alone may allow. */
function toAuthenticate(
  { host }: ServerOptions,
  { authenticate }: ServerConfig,
  secrets: SecretStore,
): Authenticate | undefined {
  const token = process.env["TROUPE_TOKEN"] ?? "";
  const peerKeys = process.env["TROUPE_PEER_KEYS"] ?? "";
  try {
    const isKnown = authenticate !== undefined || peerKeys !== "";
    if (token !== "" || !isKnown) checkToken(host, token === "" ? undefined : token);
    if (token === "" && !isKnown) return undefined;
    const given = [
      ...(peerKeys === "" ? [] : [peers(peerKeys)]),
      ...(authenticate === undefined ? [] : [authenticate]),
    ];
    const all = anyOf(...(token === "" ? [] : [sharedToken(token)]), apiKeys(secrets), ...given);
    all.keepIn?.(secrets);
    return all;
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(EXIT.refused, thrown.message, thrown.details.hint);
  }
}

/** The webhooks of the configuration, if it has some. */
async function openWebhooks({ webhooks, push }: ServerConfig): Promise<Webhooks | undefined> {
  if (webhooks === undefined && push === undefined) return undefined;
  const { createWebhooks } = await import("../../webhooks/create-webhooks.ts");
  try {
    return createWebhooks(webhooks ?? [], { ...(push && { push }) });
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(EXIT.refused, thrown.message, thrown.details.hint);
  }
}

async function listen(
  runtime: Runtime,
  options: ServerOptions,
  metrics: Metrics,
  { authenticate, adapters, listeners }: Pick<ServeOptions, "authenticate" | "adapters" | "listeners">,
): Promise<Server> {
  const { host, port, allowedHost, allowedOrigin, trustProxy, keepAliveSeconds } = options;
  try {
    const common = {
      hostname: host,
      allowedHosts: allowedHost,
      allowedOrigins: allowedOrigin,
      trustProxy,
      keepAliveMs: keepAliveSeconds * 1_000,
      ...(authenticate && { authenticate }),
    };
    return await serve(runtime, {
      ...common,
      port,
      // The command decides how its process ends.
      drain: false,
      metrics,
      ...(options.console && { console: await openConsole(options) }),
      ...(options.static !== undefined && { files: staticFiles(options.static) }),
      adapters: adapters ?? [],
      listeners: [...(await openListeners(options, common)), ...(listeners ?? [])],
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

/** The console with what it offers of the project in the working directory. */
async function openConsole({ traceUrl }: ServerOptions): Promise<ConsolePages> {
  const { projectDataSets } = await import("../eval/project-data-sets.ts");
  return {
    ...(await readConsole()),
    ...(traceUrl !== undefined && { traceUrl }),
    dataSets: projectDataSets(),
  };
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

/** Opens the database of a server, or opens or creates its data directory. */
async function openData(options: ServerOptions): Promise<Store> {
  if (options.log !== undefined) return toStore(await openShared(options.log, options));
  const { data, durability, acceptLoss } = options;
  return openWithHints(data, HINTS, () => {
    const log = sqliteLog(data, { durability, acceptLoss });
    writeNote(join(data, PID_NOTE), String(process.pid));
    return toStore(log);
  });
}

const HINTS = {
  inUse: "use another directory with --data",
  damaged: "restore it from a backup, or start with the remaining data: --accept-loss",
  unusable: "check the directory, or use another one with --data",
};

function openShared(url: string, { single, cluster, durability }: ServerOptions) {
  if (durability === "relaxed") {
    throw new Exit(
      EXIT.refused,
      "--durability is for a data directory; for a database its setting synchronous_commit decides",
      "leave --durability out",
    );
  }
  const nodes = single ? "any" : cluster === undefined ? "one" : "several";
  return explained(() => openPostgres(toConnections(url), { nodes }));
}

/** Creates the router of a server for its log. */
type OpenRouter = (log: EventLog) => Router;

/** Checks the options for several nodes. The router sends messages to them with `--cluster`, otherwise within this process. */
function toOpenRouter(options: ServerOptions, lines: Log): OpenRouter {
  const { cluster, single, log, deadAfterSeconds } = options;
  if (cluster === undefined && deadAfterSeconds === undefined) return localRouter;
  if (cluster === undefined)
    throw new Exit(EXIT.refused, "--dead-after-seconds is for nodes with --cluster", "leave it out");
  if (log === undefined) {
    throw new Exit(
      EXIT.refused,
      "--cluster needs a database that the nodes share",
      "use --log postgres://user@host:5432/database",
    );
  }
  if (single) {
    throw new Exit(EXIT.refused, "--single is for one node, --cluster for several", "leave one of them out");
  }
  const fault = onceInAWhile(lines);
  try {
    const transport = httpTransport({ url: cluster, secret: readSecrets("TROUPE_CLUSTER_SECRET"), fault });
    const environment = nodeEnvironment();
    const deadAfter = deadAfterSeconds !== undefined && { deadAfterMs: deadAfterSeconds * 1_000 };
    return (shared) => clusterRouter({ log: shared, transport, environment, fault, ...deadAfter });
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(EXIT.refused, thrown.message, thrown.details.hint);
  }
}

/** Prints each fault at most once a minute: while it lasts, it comes with each message between the nodes. */
function onceInAWhile(lines: Log): (message: string, thrown?: unknown) => void {
  const printed = new Map<string, number>();
  return (message, thrown) => {
    const now = performance.now();
    if (now - (printed.get(message) ?? -Infinity) < AGAIN_MS) return;
    if (printed.size >= MOST_PRINTED) printed.clear();
    printed.set(message, now);
    lines.fault(message, thrown);
  };
}

const AGAIN_MS = 60_000;
const MOST_PRINTED = 1_000;

/** Loads the listeners that the options ask for. The HTTP ones get the settings of the server. */
async function openListeners(options: ServerOptions, settings: ServeOptions): Promise<readonly Listener[]> {
  const { agentic: port } = options;
  const agenticPorts = port === undefined ? [] : [agenticPort({ ...settings, port })];
  return [...agenticPorts, ...(await openAipListeners(options))];
}

/** The agentic dialect on a port of its own, for clients that expect it at the root of a server. */
function agenticPort(settings: ServeOptions): Listener {
  return {
    name: "agentic",
    async listen(runtime) {
      const { agentic } = await import("../../adapters/agentic/agentic.ts");
      const adapters = [agentic({ base: "" })];
      const server = await serve(runtime, { ...settings, adapters, native: false, drain: false }).catch(
        (thrown: unknown) => {
          const { code, message } = toAgentError(thrown);
          throw new AgentError(code, message, { hint: "choose another port with --agentic" });
        },
      );
      return { address: server.url, close: (options) => server.close(options) };
    },
  };
}

/** The listeners for AIP. The gRPC packages are loaded when they start. */
async function openAipListeners(options: ServerOptions): Promise<readonly Listener[]> {
  const { aip, aipJoin, aipInsecure: insecure, aipOpen: open } = options;
  if (aip === undefined && aipJoin === undefined) return [];
  const tls = await readAipTls(options);
  const { aipGateway, aipNode } = await import("../../adapters/aip/listeners.ts");
  // The agents listen where the gateway does, each on a port of its own.
  const host = `${aip?.slice(0, aip.lastIndexOf(":")) ?? "127.0.0.1"}:0`;
  return [
    ...(aip === undefined ? [] : [aipGateway({ host: aip, insecure, open, ...tls, ...toAdvertised(aip) })]),
    ...(aipJoin === undefined
      ? []
      : [aipNode({ gateway: aipJoin, host, insecure, open, ...tls, ...toAdvertised(host) })]),
  ];
}

/** The keys of AIP, if files of them are named. */
async function readAipTls({ aipKey, aipCert, aipCa }: ServerOptions): Promise<{ readonly tls?: AipTls }> {
  if (aipKey === undefined && aipCert === undefined && aipCa === undefined) return {};
  const [key, cert, ca] = await Promise.all([
    readKey("--aip-key", aipKey),
    readKey("--aip-cert", aipCert),
    readKey("--aip-ca", aipCa),
  ]);
  return { tls: { key, cert, ca } };
}

async function readKey(option: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : code;
    throw new AgentError("invalid_request", `${option} ${file} cannot be read: ${why}`, { cause });
  }
}

/** A wildcard address is no address for others: they get the name of this machine. */
function toAdvertised(address: string): { readonly advertise?: string } {
  const wildcard = /^(?:0\.0\.0\.0|\[::\]):(\d+)$/.exec(address);
  return wildcard === null ? {} : { advertise: `${hostname()}:${wildcard[1]}` };
}
