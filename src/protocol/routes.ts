/** A method and a path, with parameters in braces as in OpenAPI. */
export type Route = readonly [method: "GET" | "POST" | "DELETE", path: `/${string}`];

/** Routes by name. */
export type Routes<Name extends string = string> = { readonly [name in Name]: Route };

/** The routes that exist only at the root. */
export const serverRoutes = {
  agents: ["GET", "/"],
  openApi: ["GET", "/openapi.json"],
  schema: ["GET", "/schemas/{name}.json"],
  health: ["GET", "/healthz"],
  readiness: ["GET", "/readyz"],
  metrics: ["GET", "/metrics"],
  run: ["GET", "/runs/{run_id}"],
  removeRun: ["DELETE", "/runs/{run_id}"],
  forkRun: ["POST", "/runs/{run_id}/fork"],
  retryRun: ["POST", "/runs/{run_id}/retry"],
  endRun: ["POST", "/runs/{run_id}/end"],
  resumeRun: ["POST", "/runs/{run_id}/resume"],
  erase: ["POST", "/erase"],
  audit: ["GET", "/audit"],
  statistics: ["GET", "/statistics"],
  deadLetters: ["GET", "/dead-letters"],
  sendAgain: ["POST", "/runs/{run_id}/dead-letters/{request_id}"],
  dismiss: ["DELETE", "/runs/{run_id}/dead-letters/{request_id}"],
  pauseSchedule: ["POST", "/runs/{run_id}/schedules/{schedule_id}/pause"],
  resumeSchedule: ["POST", "/runs/{run_id}/schedules/{schedule_id}/resume"],
  runSchedule: ["POST", "/runs/{run_id}/schedules/{schedule_id}/run"],
  removeSchedule: ["DELETE", "/runs/{run_id}/schedules/{schedule_id}"],
  createAnswerLink: ["POST", "/answer-links"],
  topics: ["GET", "/topics"],
  openTopic: ["POST", "/topics"],
  topic: ["GET", "/topics/{topic}"],
  newestPublications: ["GET", "/topics/{topic}/publications"],
  publish: ["POST", "/topics/{topic}/publications"],
} as const;

/** The routes that exist at the root, for the default agent or all agents, and below the path of each agent. */
export const agentRoutes = {
  describe: ["GET", "/describe"],
  process: ["POST", "/process"],
  configure: ["POST", "/configure"],
  streamRequest: ["POST", "/stream_request"],
  getEvents: ["GET", "/getevents"],
  getEventsById: ["GET", "/getevents/{id}"],
  events: ["GET", "/events"],
  eventsById: ["GET", "/events/{id}"],
  request: ["GET", "/request/{request_id}"],
  runs: ["GET", "/runs"],
  waits: ["GET", "/waits"],
  schedules: ["GET", "/schedules"],
  makeSchedule: ["POST", "/schedules"],
  upload: ["POST", "/artifacts"],
  artifact: ["GET", "/artifacts/{artifact_id}"],
} as const;

/** The first path segments of the routes below the path of every agent. */
export const endpoints: readonly string[] = firstSegments(agentRoutes);

/** The first path segments at the root that an agent of that name would hide. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...endpoints,
  ...firstSegments(serverRoutes),
  "console",
  "inspect",
  "docs",
]);

function firstSegments(routes: Routes): string[] {
  return [...new Set(Object.values(routes).map(([, path]) => path.split("/", 2)[1] ?? ""))];
}
