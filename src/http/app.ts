import { Hono } from "hono";
import type { Context, MiddlewareHandler } from "hono";
import { basePath } from "hono/route";
import { AgentError, toAgentError } from "../errors.ts";
import type { LogFigures } from "../ports/event-log.ts";
import type { Authenticator } from "../ports/principal.ts";
import type { ReadinessPart } from "../ports/readiness.ts";
import type { RouterFigures } from "../ports/router.ts";
import { agentRoutes, endpoints, reservedNames, serverRoutes } from "../protocol/routes.ts";
import type { Runtime, WaitCount } from "../runtime/api.ts";
import type { Adapter } from "./adapter.ts";
import { addConsole, isForConsole } from "./console/add-console.ts";
import { addInspection, addCopies, isInspection } from "./console/add-inspection.ts";
import type { ConsolePages } from "./console/pages.ts";
import { createGuard } from "./guards/guards.ts";
import type { GuardOptions } from "./guards/guards.ts";
import { nodeOf } from "./messages/app-env.ts";
import type { AppEnv } from "./messages/app-env.ts";
import { createMount, pathIn } from "./messages/mount.ts";
import { isFault } from "./messages/problem.ts";
import { createRefuse } from "./messages/refusal.ts";
import { createMetrics } from "./metrics/metrics.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { addRoutes } from "./routes/add-routes.ts";
import { agentHandlers } from "./routes/agent-routes.ts";
import { addAnswerPages, answerLinkHandlers, isAnswerLink, isAnswerPath } from "./routes/answer-pages.ts";
import { auditHandlers } from "./routes/audit-routes.ts";
import { statisticsHandlers } from "./routes/statistics-routes.ts";
import { artifactHandlers } from "./routes/artifact-routes.ts";
import { eventHandlers } from "./routes/event-routes.ts";
import { createHost, perHost } from "./routes/host.ts";
import type { Host, Place, SharedHost } from "./routes/host.ts";
import { PendingReplies } from "./routes/pending-replies.ts";
import { PollCursors } from "./routes/poll-cursors.ts";
import { oneRunHandlers, runHandlers } from "./routes/run-routes.ts";
import { oneScheduleHandlers, schedulesHandlers } from "./routes/schedule-routes.ts";
import { describingHandlers, serverHandlers } from "./routes/server-routes.ts";
import { createFrontEnd } from "./static-files.ts";
import type { StaticFiles } from "./static-files.ts";
import { TOPIC_AGENT } from "../runtime/agent/topic.ts";
import type { ServerState } from "./routes/server-routes.ts";
import { topicHandlers } from "./routes/topic-routes.ts";
import { hasUnservedRuns } from "./routes/unserved.ts";
import { OpenStreams } from "./sse/open-streams.ts";
import type { StreamOptions } from "./sse/open-streams.ts";

/** What `createApp` takes. */
export interface AppOptions extends GuardOptions {
  /** What `/metrics` shows; the runtime needs the same object as `telemetry`. Default: only what the app itself knows. */
  readonly metrics?: Metrics;
  readonly streams?: StreamOptions;
  /** Maximum size of a request body. Default 1 MiB. */
  readonly bodyLimitBytes?: number;
  /** Maximum size of an uploaded file. Default 32 MiB. */
  readonly fileLimitBytes?: number;
  /** Other protocols that the same agents are served over. Default: none. */
  readonly adapters?: readonly Adapter[];
  /** The pages of the console, which browsers get at the root (`readConsole` of troupe/node). Default: none. */
  readonly console?: ConsolePages;
  /**
   * The files of a web front end, at all paths that neither the protocol nor an agent has (`staticFiles` of troupe/node). With
   * the console, its page at the root is `/index.html`. Default: none.
   */
  readonly files?: StaticFiles;
  /** Whether the native protocol is served; false for an adapter with a port of its own. Default true. */
  readonly native?: boolean;
  /** Aborts when the server is about to stop: streams then end properly and waiting requests are answered. */
  readonly signal?: AbortSignal;
}

/** Creates the HTTP interface of a runtime. It has no turn state of its own. */
export function createApp(
  runtime: Runtime,
  {
    metrics = createMetrics(),
    streams: streamOptions = {},
    bodyLimitBytes = 1_048_576,
    fileLimitBytes = 33_554_432,
    adapters = [],
    native = true,
    console,
    files,
    signal,
    ...guardOptions
  }: AppOptions = {},
): Hono<AppEnv> {
  for (const adapter of adapters) checkRoots(adapter, runtime);
  const { roots = [], signIn }: Authenticator = guardOptions.authenticate ?? (() => undefined);
  checkRoots({ name: "authenticate", roots }, runtime);
  const refuse = createRefuse(adapters);
  const taken = new Set([...reservedNames, ...roots, ...adapters.flatMap((adapter) => adapter.roots)]);
  const frontEnd =
    files &&
    createFrontEnd(files, (segment) =>
      segment === "" ? console !== undefined : taken.has(segment) || runtime.agents.includes(segment),
    );
  const guard = createGuard(guardOptions, adapters, refuse, {
    isPublic: (c) =>
      (console !== undefined && isForConsole(c)) ||
      (native && isAnswerLink(c)) ||
      frontEnd?.isForFile(c) === true,
    isVisited: (path) => (native && isAnswerPath(path)) || frontEnd?.isPage(path) === true,
    isOwn: isInspection,
    report: metrics.refused,
    note: (entry) => runtime.audit.note(entry),
  });
  const host = createHost(runtime, {
    streams: new OpenStreams(streamOptions),
    waits: new PendingReplies(),
    report: metrics.fault,
    mount: createMount(guardOptions.trustProxy ?? false),
    bodyLimitBytes,
    fileLimitBytes,
    ...(guard.authenticate && { authenticate: guard.authenticate }),
  });
  signal?.addEventListener("abort", () => {
    host.streams.close();
    host.waits.close();
  });
  // An app for another protocol can share the metrics; there is one set of gauges.
  if (native) watch(metrics, runtime, host);

  const app = new Hono<AppEnv>({ getPath: pathOf });
  app.use(limitStalledReaders(host.streams.times.stallMs));
  app.use(guard.handler);
  if (frontEnd) app.use(frontEnd.handler);
  if (console) {
    addConsole(app, console, host.mount, signIn);
    addInspection(app, host, console);
  }
  if (native) {
    addAnswerPages(app, runtime.answerLinks);
    addCopies(app, host);
  }
  const addPlaces = (to: Hono<AppEnv>, places: readonly Place[]): void => {
    // The first matching route is called first: an adapter can take or pass on a request to a native path.
    for (const place of places) for (const adapter of adapters) adapter.addRoutes(to, host, place);
    if (native) for (const place of places) addPlace(to, host, place);
  };
  const state = { metrics, isStopping: (): boolean => signal?.aborted === true };
  addPlaces(app, placesOf(runtime));
  if (native) addServer(app, host, state);
  const wireRoots = adapters.flatMap((adapter) => adapter.roots);
  const toError = (thrown: unknown, c: Context<AppEnv>): Response => {
    if (isFault(thrown)) host.report(`${c.req.method} failed`, thrown);
    const principal = c.get("principal");
    if (principal !== undefined) runtime.audit.refused(principal, thrown);
    return refuse(c, thrown);
  };
  const seenBy = (c: Context<AppEnv>): Runtime =>
    c.get("principal") === undefined ? runtime : host.as(c).runtime;
  const toNoRoute = (c: Context<AppEnv>): Response => {
    const { error, headers } = explainNoRoute(c, app, seenBy(c), wireRoots);
    return refuse(c, error, { headers });
  };
  app.all("*", async (c, next) => {
    const agent = await unservedIn(c, host, wireRoots);
    if (agent === undefined) return next();
    const unserved = new Hono<AppEnv>({ getPath: pathOf });
    unserved.use((inner, proceed) => {
      // The guard has passed the request, and what it found out belongs to the answer.
      for (const [name, value] of Object.entries(c.var)) inner.set(name as never, value as never);
      return proceed();
    });
    addPlaces(unserved, [{ path: `/${agent}`, agent }]);
    const mounted = new Hono<AppEnv>({ getPath: pathOf }).route(basePath(c), unserved);
    return mounted.notFound(toNoRoute).onError(toError).fetch(c.req.raw, c.env);
  });
  app.notFound(toNoRoute);
  app.onError(toError);
  return app;
}

/** The agent in a path that is not in the list of agents, and has runs here: one that is no longer served, or that of topics. */
async function unservedIn(
  c: Context<AppEnv>,
  host: SharedHost,
  roots: readonly string[],
): Promise<string | undefined> {
  const [, first = "", second = ""] = pathIn(c).split("/");
  const agent = roots.includes(first) ? second : first;
  const isPlace = roots.includes(first) || roots.includes(second) || endpoints.includes(second);
  if (!isPlace || c.get("principal") === undefined) return undefined;
  if (agent === TOPIC_AGENT) return agent;
  return (await hasUnservedRuns(host.as(c).runtime, agent)) ? agent : undefined;
}

/** An agent with the name of a root would be hidden by the adapter's routes, or hide them. */
function checkRoots({ name, roots }: Pick<Adapter, "name" | "roots">, { agents }: Runtime): void {
  const taken = roots.find((root) => agents.includes(root));
  if (taken === undefined) return;
  throw new AgentError("invalid_request", `the agent ${taken} has the name of a path of the wire ${name}`, {
    hint: "rename the agent, or serve without this wire",
  });
}

function addPlace(app: Hono<AppEnv>, shared: SharedHost, place: Place): void {
  const handlersOf = perHost(shared, (host) => ({
    ...agentHandlers(host, place),
    ...eventHandlers(host, place, cursorsOf(host)),
    ...runHandlers(host, place),
    ...schedulesHandlers(host, place),
    ...artifactHandlers(host),
  }));
  addRoutes(app, place.path, agentRoutes, handlersOf);
}

function addServer(app: Hono<AppEnv>, shared: SharedHost, state: ServerState): void {
  const {
    agents,
    health,
    metrics,
    openApi,
    readiness,
    schema,
    createAnswerLink,
    audit,
    statistics,
    pauseSchedule,
    resumeSchedule,
    runSchedule,
    removeSchedule,
    topics,
    openTopic,
    topic,
    newestPublications,
    publish,
    ...ofCaller
  } = serverRoutes;
  // Health checks have no principal.
  const handlers = serverHandlers(shared, state);
  const describing = describingHandlers(shared);
  addRoutes(app, "", { agents, openApi }, () => describing);
  addRoutes(app, "", { health, metrics, readiness, schema }, () => handlers);
  addRoutes(app, "", ofCaller, perHost(shared, oneRunHandlers));
  const ofSchedule = { pauseSchedule, resumeSchedule, runSchedule, removeSchedule };
  addRoutes(app, "", ofSchedule, perHost(shared, oneScheduleHandlers));
  const ofTopics = { topics, openTopic, topic, newestPublications, publish };
  addRoutes(app, "", ofTopics, perHost(shared, topicHandlers));
  addRoutes(app, "", { audit }, perHost(shared, auditHandlers));
  addRoutes(app, "", { statistics }, perHost(shared, statisticsHandlers));
  addRoutes(app, "", { createAnswerLink }, perHost(shared, answerLinkHandlers));
}

/** The positions of the readers of one principal. */
function cursorsOf(host: Host): PollCursors {
  const cursors = CURSORS.get(host) ?? new PollCursors();
  CURSORS.set(host, cursors);
  return cursors;
}

const CURSORS = new WeakMap<Host, PollCursors>();

function watch(metrics: Metrics, runtime: Runtime, { streams }: SharedHost): void {
  metrics.watch("troupe_streams", "Open streams.", () => streams.size);
  metrics.watch("troupe_active_runs", "Runs in memory.", () => runtime.health().activeRuns);
  if (runtime.health().figures) watchNode(metrics, runtime);
  if (runtime.health().logFigures) watchLog(metrics, runtime);
  const inState = (wanted: ReadinessPart["state"]): (() => number) => {
    return () => runtime.readiness.parts().filter(({ state }) => state === wanted).length;
  };
  metrics.watchEach(
    "troupe_turns_held",
    "Turns that no served code can continue, by agent and reason.",
    ["agent", "code"],
    async () =>
      (await runtime.countHeld()).map(({ agent, code, turns }) => ({
        labels: { agent, code },
        value: turns,
      })),
  );
  // A scrape reads both gauges at once, from one question to the log.
  let counting: Promise<WaitCount> | undefined;
  const countWaits = (): Promise<WaitCount> =>
    (counting ??= runtime.countWaits().finally(() => {
      counting = undefined;
    }));
  metrics.watchEach("troupe_waits_open", "Open questions to people, counted up to 10,000.", [], async () => [
    { labels: {}, value: (await countWaits()).waits },
  ]);
  metrics.watchEach(
    "troupe_wait_oldest_seconds",
    "How long the oldest open question is open.",
    [],
    async () => [{ labels: {}, value: (await countWaits()).oldestMs / 1_000 }],
  );
  const { health } = runtime;
  metrics.watch(
    "troupe_requests_queued",
    "Requests in the mailboxes of runs in memory.",
    () => health().queuedRequests,
  );
  metrics.watch(
    "troupe_slots_taken",
    "Calls that have a slot of a tool or model with a limit.",
    () => health().slots.taken,
  );
  metrics.watch("troupe_slots_waiting", "Calls that wait for such a slot.", () => health().slots.waiting);
  metrics.watchEach(
    "troupe_model_away",
    "Whether a model that has failed lately is away: 1 if at most one request at a time asks it.",
    ["model"],
    async () => health().models.map(({ model, isAway }) => ({ labels: { model }, value: Number(isAway) })),
  );
  metrics.watchEach(
    "troupe_model_waiting",
    "Calls and runs that wait for a model that is away.",
    ["model"],
    async () => health().models.map(({ model, waiting }) => ({ labels: { model }, value: waiting })),
  );
  metrics.watch("troupe_parts_degraded", "Parts that /readyz shows as degraded.", inState("degraded"));
  metrics.watch("troupe_parts_failed", "Parts that /readyz shows as failed.", inState("failed"));
  metrics.watch("troupe_active_turns", "Running turns, without waiting ones.", () => {
    return runtime.health().activeTurns;
  });
}

/** What a node does with others. */
function watchNode(metrics: Metrics, runtime: Runtime): void {
  const figure = (name: keyof RouterFigures): (() => number) => {
    return () => runtime.health().figures?.[name] ?? 0;
  };
  metrics.watch(
    "troupe_node_taken_over",
    "Runs of other nodes that this one has continued.",
    figure("takenOver"),
  );
  metrics.watch("troupe_node_fenced", "Messages to runs that another node had taken.", figure("fenced"));
  metrics.watch("troupe_node_forwarded", "Messages sent to other nodes.", figure("forwarded"));
  metrics.watch(
    "troupe_node_redirected",
    "Messages that another node did not take but named the owner for; this node sent them again.",
    figure("redirected"),
  );
  metrics.watch("troupe_node_repeated", "Messages sent again.", figure("repeated"));
  const ageSeconds = (): number => figure("heartbeatAgeMs")() / 1_000;
  metrics.watch("troupe_node_beat_age_seconds", "The age of the newest heartbeat of this node.", ageSeconds);
}

/** What the engine of the log does for this process. */
function watchLog(metrics: Metrics, runtime: Runtime): void {
  const figure = (name: keyof LogFigures): (() => number) => {
    return () => runtime.health().logFigures?.[name] ?? 0;
  };
  metrics.watch("troupe_log_commits", "Commits of the database.", figure("commits"));
  metrics.watch("troupe_log_appends", "Appends of runs in these commits.", figure("appends"));
  metrics.watch("troupe_log_bytes", "Bytes of the events in these commits.", figure("bytes"));
  metrics.watch("troupe_log_retries", "Statements sent to the database again.", figure("retries"));
  metrics.watch(
    "troupe_log_connections",
    "Open connections for questions and appends.",
    figure("connections"),
  );
  metrics.watch("troupe_log_connections_busy", "Those that have a statement.", figure("busyConnections"));
  metrics.watch(
    "troupe_log_statements_waiting",
    "Statements that wait for one.",
    figure("waitingStatements"),
  );
}

/**
 * Routes at the root and below each agent's path. The agents' names are written out, because a router is
 * faster without a parameter there.
 */
function placesOf(runtime: Runtime): Place[] {
  const own = runtime.agents.map((agent) => ({ path: `/${agent}`, agent }));
  return [{ path: "", agent: undefined }, ...own];
}

/** The path of a URL, without doubled slashes and without a slash at the end. */
function pathOf({ url }: Request): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  const path = end === -1 ? url.slice(start) : url.slice(start, start + end);
  if (!path.includes("//") && !path.endsWith("/")) return path;
  return path.replace(/\/{2,}/g, "/").replace(/(.)\/$/, "$1");
}

/**
 * Closes a connection if the rest of a finished answer waits for its reader, and the reader accepts nothing for a time. Node
 * closes it at the timeout of the socket, and clears the timeout when the connection is idle: requests that were already
 * waiting on the connection (pipelining) have the same limit.
 */
function limitStalledReaders(stallMs: number): MiddlewareHandler<AppEnv> {
  return (c, next) => {
    const outgoing = nodeOf(c)?.outgoing;
    outgoing?.once("prefinish", () => {
      const { socket } = outgoing;
      if (socket !== null && socket.writableLength > 0) socket.setTimeout(stallMs);
    });
    return next();
  };
}

/** Why no route matches a request, and the headers of the answer. */
interface NoRoute {
  readonly error: AgentError;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Finds the cause: the method, the agent's name, or the path. `roots` are the first segments of adapters' routes. */
function explainNoRoute(
  c: Context<AppEnv>,
  app: Hono<AppEnv>,
  runtime: Runtime,
  roots: readonly string[],
): NoRoute {
  const { method, path } = c.req;
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  const methods = METHODS.filter((candidate) => hasRoute(app, candidate, path));
  // A route with the method of the request has passed it on.
  if (methods.length > 0 && !methods.includes(method)) {
    const allow = methods.flatMap((served) => (served === "GET" ? ["GET", "HEAD"] : [served])).join(", ");
    const error = new AgentError("method_not_allowed", `${shown} takes ${allow}, not ${method}`);
    return { error, headers: { allow } };
  }
  const [, agent = "", route] = path.split("/");
  const isAgentRoute = route !== undefined && (endpoints.includes(route) || roots.includes(route));
  if (isAgentRoute && !runtime.agents.includes(agent) && !roots.includes(agent)) {
    return { error: unknownAgent(runtime, agent) };
  }
  const hint = "GET / lists the agents, GET /openapi.json all routes";
  return { error: new AgentError("not_found", `there is no route ${shown}`, { hint }) };
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

function hasRoute(app: Hono<AppEnv>, method: string, path: string): boolean {
  const [matches] = app.router.match(method, path);
  // A handler for all methods is a guard, not a route.
  return matches.some(([[, route]]) => route.method === method);
}

function unknownAgent(runtime: Runtime, agent: string): AgentError {
  try {
    runtime.describe(agent);
  } catch (thrown) {
    return toAgentError(thrown);
  }
  return new AgentError("not_found", `there is no agent ${agent}`);
}
