import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import { STATISTICS_BY } from "../../ports/statistics.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { components, schemas } from "../../protocol/schema/json-schema.ts";
import { agentRoutes, serverRoutes } from "../../protocol/routes.ts";
import {
  oneOfSchemas,
  empty,
  flag,
  inQuery,
  jsonResponse,
  listOf,
  object,
  routeOperation,
  orStream,
  ref,
  refusal,
  stream,
  text,
  toPaths,
  whole,
  withOperationIds,
} from "./parts.ts";
import type { RouteOperations } from "./parts.ts";
import { queryFields } from "../../protocol/requests/parse.ts";

/**
 * Describes all routes as an OpenAPI 3.1 document, with the same schemas that validate requests. The routes of an
 * agent exist at the root, for the default agent, and below each agent's path: these are the servers of the document.
 */
export function createOpenApi(agents: readonly string[]): JsonObject {
  const [first] = agents;
  const below = {
    url: "./{agent}",
    description: "One agent.",
    variables: { agent: { enum: agents, default: first ?? "" } },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent Protocol",
      version: "2025-draft",
      description:
        "Agents are actors with a durable log. Clients send requests to them and read their events.",
      license: { name: "Apache 2.0", identifier: "Apache-2.0" },
    },
    servers: [ROOT, ...(first === undefined ? [] : [below])],
    // A server without a token accepts unauthenticated requests.
    security: [{}, { bearer: [] }],
    paths: withOperationIds({
      // These do not exist below the path of an agent.
      ...toPaths(serverRoutes, serverOperations, { servers: [ROOT] }),
      ...toPaths(agentRoutes, agentOperations),
    }),
    components: {
      schemas: { ...components },
      responses: { Refusal: refusal },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
}

/** Relative to the address of the document, so that it is right below a prefix too. */
const ROOT: JsonObject = { url: ".", description: "The server, and its default agent." };

/** The name and the path of an agent. */
const pair: JsonObject = { type: "array", prefixItems: [text, text], minItems: 2, maxItems: 2 };

const warnings: JsonObject = {
  type: "array",
  items: text,
  description: "What can lose acknowledged events at present.",
};

const health = object(
  {
    status: { const: "ok" },
    durability: { ...text, description: "What a commit survives." },
    log: object({ writable: flag, reason: text, warnings }, ["writable"]),
    active_runs: whole,
    active_turns: whole,
  },
  ["status", "durability", "log", "active_runs", "active_turns"],
);

const parts: JsonObject = listOf(
  object({ name: text, state: { type: "string", enum: ["ready", "degraded", "failed"] }, detail: text }, [
    "name",
    "state",
  ]),
);

const forkedFrom = object({ run_id: text, id: whole }, ["run_id", "id"]);

const schedule = object(
  {
    id: text,
    agent: text,
    key: text,
    run_id: text,
    owner: text,
    operation: { ...text, description: "The operation or the message." },
    input: {},
    cron: text,
    timezone: text,
    every_ms: { type: "number" },
    at: text,
    overlap: { type: "string", enum: ["skip", "queue"] },
    defined: { ...flag, description: "Whether the definition of the agent has it." },
    paused: flag,
    next_at: text,
    last: object(
      { at: text, request_id: text, error: object({ code: text, message: text }, ["code", "message"]) },
      ["at", "request_id"],
    ),
    sender: { type: "object" },
    by: { type: "object" },
  },
  ["id", "agent", "run_id", "operation", "input", "overlap", "defined", "paused"],
);

const topicFields = {
  name: text,
  run_id: { ...text, description: "Its run, whose events are what was published." },
  owner: text,
  messages: {
    ...listOf(object({ name: text, body_schema: { type: "object" } }, ["name"])),
    description: "What can be published; absent if that is anything.",
  },
  retain: { type: "integer", enum: [0, 1] },
  updated_at: text,
};

const topic = object(topicFields, ["name"]);

const topicDetails = object(
  {
    ...topicFields,
    subscriber_count: whole,
    subscribers: {
      ...listOf(
        object({ agent: text, key: text, run_id: text, names: listOf(text) }, ["agent", "run_id", "names"]),
      ),
      description: "The first 1,000.",
    },
    newest: { ...whole, description: "The id of the newest event of its run." },
  },
  ["name", "subscriber_count", "subscribers", "newest"],
);

const publication = object({ run_id: text, id: whole, name: text, body: {}, at: text }, [
  "run_id",
  "id",
  "name",
  "body",
  "at",
]);

const deadLetter = object(
  {
    run_id: { ...text, description: "The run that holds it." },
    request_id: text,
    kind: { type: "string", enum: ["refused", "failed"] },
    agent: { ...text, description: "The agent of the actor that it is for." },
    key: text,
    to_run_id: text,
    operation: text,
    input: {},
    sender: { type: "object" },
    error: object({ code: text, message: text }, ["code", "message"]),
    at: text,
  },
  ["run_id", "request_id", "kind", "agent", "operation", "input", "at"],
);

/** Whether a list is counted. */
const counted: JsonObject = { type: "string", enum: ["true", "false", "all"] };

const more: JsonObject = {
  Link: { description: 'The next page, with rel="next"; an empty page can have one.', schema: text },
};

const auditAction: JsonObject = { type: "string", enum: [...AUDIT_ACTIONS] };

const auditEntry = object(
  {
    at: { ...text, description: "ISO 8601, UTC." },
    owner: text,
    by: object({ id: text, name: text }, ["id"]),
    action: auditAction,
    agent: text,
    run_id: text,
    request_id: text,
    event: { ...whole, description: "The event of the run that has the content." },
    detail: { ...text, description: "What it is about, in a few words." },
    count: { ...whole, description: "How many times it happened, if more than once." },
  },
  ["at", "owner", "by", "action"],
);

const outcomes = object({ success: whole, error: whole, canceled: whole, ms: whole }, [
  "success",
  "error",
  "canceled",
  "ms",
]);

const statisticsRow = object(
  {
    name: {
      ...text,
      description: "The agent, model, operation, error code or owner; of an hour or a day its start.",
    },
    agent: { ...text, description: "The agent of an operation or an error." },
    turns: outcomes,
    errors: {
      type: "object",
      additionalProperties: whole,
      description: "The turns that failed, by their codes.",
    },
    completions: outcomes,
    usage: {
      type: "object",
      description: "What the completions have used; their cost as far as it is known.",
    },
    unknown_costs: { ...whole, description: "Completions whose cost is not known." },
    latency: object({ p50_ms: whole, p90_ms: whole, p95_ms: whole, p99_ms: whole }, [
      "p50_ms",
      "p90_ms",
      "p95_ms",
      "p99_ms",
    ]),
    run_ids: { ...listOf(text), description: "Of errors: runs with such a turn." },
  },
  ["name", "turns", "completions", "usage", "unknown_costs"],
);

const statisticsAnswer = object(
  {
    by: text,
    since: { ...text, description: "The first hour of which something is known." },
    from: text,
    until: text,
    total: statisticsRow,
    rows: listOf(statisticsRow),
    groups: { ...whole, description: "The number of groups, if there are more than rows." },
  },
  ["by", "from", "until", "total", "rows"],
);

/** The routes of the server itself, by the names of the route table. */
const serverOperations: RouteOperations<keyof typeof serverRoutes> = {
  agents: routeOperation({
    summary: "Lists the agents.",
    responses: { "200": jsonResponse(oneOfSchemas(listOf(ref("AgentEntry")), listOf(pair)), "All agents.") },
    parameters: [
      inQuery("format", { type: "string", enum: ["pairs"] }, "Pairs of name and path instead of objects."),
    ],
  }),
  openApi: routeOperation({
    summary: "Returns this document.",
    responses: { "200": jsonResponse({ type: "object" }, "OpenAPI 3.1.") },
  }),
  schema: routeOperation({
    summary: "Returns the JSON Schema of a request, an event or an answer.",
    responses: {
      "200": {
        description: "The schema.",
        content: { "application/schema+json": { schema: { type: "object" } } },
      },
    },
  }),
  health: routeOperation({
    summary: "Returns 200 while the server is alive.",
    responses: { "200": jsonResponse(health, "The server is alive.") },
  }),
  readiness: routeOperation({
    summary: "Returns whether the server accepts requests.",
    responses: {
      "200": jsonResponse(
        object({ status: { type: "string", enum: ["ok", "degraded"] }, parts }, ["status", "parts"]),
        "The server accepts requests.",
      ),
    },
  }),
  metrics: routeOperation({
    summary: "Metrics for Prometheus.",
    responses: { "200": { description: "Prometheus text.", content: { "text/plain": { schema: text } } } },
  }),
  run: routeOperation({
    summary: "Returns a run as in the list of runs, with its newest 100 requests.",
    responses: { "200": jsonResponse(ref("RunStatus"), "The run.") },
  }),
  removeRun: routeOperation({
    summary: "Removes an idle run with its events and artifacts.",
    responses: { "204": empty("The run is removed.") },
  }),
  retryRun: routeOperation({
    summary: "Tries the held turn of a run again with the code that is served now.",
    responses: { "202": jsonResponse(object({ tried: whole }, ["tried"]), "It is tried.") },
  }),
  endRun: routeOperation({
    summary: "Ends the held turn of a run with the reason as its error.",
    responses: { "200": jsonResponse(ref("RequestCompleted"), "The end of the turn.") },
  }),
  resumeRun: routeOperation({
    summary: "Has the actor of a run take requests again that its supervisor has stopped.",
    responses: { "204": empty("It takes requests.") },
  }),
  erase: routeOperation({
    summary:
      "Erases the runs that have all that is given, with everything that belongs to them, also from the files of the log. For an admin.",
    content: {
      "application/json": {
        schema: object(
          { owner: text, agent: text, run_id: text, key: text, metadata: { type: "object" } },
          [],
        ),
      },
    },
    responses: { "200": jsonResponse(object({ runs: whole }, ["runs"]), "The runs are erased.") },
  }),
  audit: routeOperation({
    summary: "Lists who did what, the newest first. For an operator.",
    parameters: [
      inQuery("owner", text, "Only what concerns this owner."),
      inQuery("by", text, "Only what this principal did, by its id."),
      inQuery("action", auditAction, "Only this."),
      inQuery("run_id", text, "Only what was done to this run."),
      inQuery("from", text, "Only at this time or later."),
      inQuery("before", text, "Only before this time."),
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "The most entries. Default 100."),
      inQuery("cursor", text, "The position of the page, from the Link header of the page before."),
    ],
    responses: {
      "200": {
        ...jsonResponse(listOf(auditEntry), "The entries."),
        headers: more,
      },
    },
  }),
  statistics: routeOperation({
    summary:
      "Says what turns and completions have done and used, by the hour. Users see what is their owner's, operators everything.",
    parameters: [
      inQuery("by", { type: "string", enum: [...STATISTICS_BY] }, "What the rows are. Default agent."),
      inQuery("since", text, "From the start of the hour with this time. Default: a day before the end."),
      inQuery("until", text, "To the end of the hour with this time. Default: now."),
      inQuery("owner", text, "Only what is of this owner."),
      inQuery("agent", text, "Only what is of this agent."),
    ],
    responses: { "200": jsonResponse(statisticsAnswer, "The sums.") },
  }),
  deadLetters: routeOperation({
    summary:
      "Lists what actors were told without effect: it was refused, or its turn has failed. For an operator.",
    responses: { "200": jsonResponse(listOf(deadLetter), "At most 1,000 dead letters.") },
  }),
  sendAgain: routeOperation({
    summary: "Sends a dead letter again, once, however often it is asked.",
    responses: { "202": jsonResponse(object({ request_id: text }, ["request_id"]), "It is accepted.") },
  }),
  dismiss: routeOperation({
    summary: "Removes a dead letter.",
    responses: { "204": empty("It is removed.") },
  }),
  pauseSchedule: routeOperation({
    summary: "Leaves out the times of a schedule until it is resumed.",
    responses: { "200": jsonResponse(schedule, "The schedule.") },
  }),
  resumeSchedule: routeOperation({
    summary: "Goes on with a schedule, with its times from now on.",
    responses: { "200": jsonResponse(schedule, "The schedule.") },
  }),
  runSchedule: routeOperation({
    summary: "Sends the request of a schedule now, besides its times.",
    parameters: [inQuery("request_id", text, "The id of the request, so that a repeated one has no effect.")],
    responses: { "202": jsonResponse(object({ request_id: text }, ["request_id"]), "It is accepted.") },
  }),
  removeSchedule: routeOperation({
    summary: "Removes a schedule. One that the definition of an agent has can only be paused.",
    responses: { "204": empty("It is removed.") },
  }),
  topics: routeOperation({
    summary:
      "Lists the topics: those with a run, the one that was changed last first, then those without one.",
    parameters: [
      inQuery("owner", text, "Only those of this owner, for a caller that sees those of all."),
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of topics. Default 100."),
      inQuery("cursor", text, "The position of the page, from the Link header of the page before."),
    ],
    responses: { "200": { ...jsonResponse(listOf(topic), "A page of topics."), headers: more } },
  }),
  openTopic: routeOperation({
    summary: "Gives a topic a run, unless it has one, so that it can be followed.",
    content: { "application/json": { schema: object({ name: text }, ["name"]) } },
    responses: { "200": jsonResponse(topicDetails, "The topic.") },
  }),
  topic: routeOperation({
    summary: "Returns a topic with its subscribers.",
    responses: { "200": jsonResponse(topicDetails, "The topic.") },
  }),
  newestPublications: routeOperation({
    summary: "Lists the newest publication of each name.",
    responses: { "200": jsonResponse(listOf(publication), "At most 100 publications.") },
  }),
  publish: routeOperation({
    summary: "Publishes something to a topic: each of its subscribers is told it.",
    content: {
      "application/json": {
        schema: object(
          {
            name: text,
            body: {},
            request_id: { ...text, description: "Makes it idempotent: a repeated one has no effect." },
          },
          ["name"],
        ),
      },
    },
    responses: {
      "202": jsonResponse(
        object({ request_id: text, run_id: text }, ["request_id", "run_id"]),
        "It is in the log of the topic.",
      ),
    },
  }),
  createAnswerLink: routeOperation({
    summary: "Makes a link to a page on which the person who has it can answer one wait of a request.",
    content: {
      "application/json": {
        schema: object(
          {
            request_id: text,
            wait_id: { ...whole, description: "The id of its WaitForInput; without it the oldest open one." },
            expires_ms: {
              type: "number",
              exclusiveMinimum: 0,
              maximum: 31_536_000_000,
              description: "How long the link works, in milliseconds. Default: one week.",
            },
            name: { ...text, description: "Who answers by it, at most 48 bytes." },
            roles: {
              ...listOf(text),
              description: "The roles of an answer by this link; only roles that the maker of the link has.",
            },
          },
          ["request_id"],
        ),
      },
    },
    responses: {
      "201": jsonResponse(
        object({ path: { ...text, description: "The path of the page on this server." } }, ["path"]),
        "The link.",
      ),
    },
  }),
  forkRun: routeOperation({
    summary:
      "Creates a run with the history of this one up to the end of a turn, or to a question of the open one.",
    content: {
      "application/json": {
        schema: object(
          {
            after: { ...whole, description: "0, or the id of a turn's RequestCompleted." },
            wait_id: {
              ...whole,
              description:
                "Instead of after: the id of a WaitForInput of the open turn, which the new run asks anew.",
            },
            takes_key: {
              type: "boolean",
              description:
                "Whether the new run takes the key of this one, which then has none. Default false.",
            },
          },
          [],
        ),
      },
    },
    responses: {
      "201": {
        ...jsonResponse(
          object({ run_id: text, forked_from: forkedFrom }, ["run_id", "forked_from"]),
          "The new run.",
        ),
        headers: { Location: { description: "The events of the new run.", schema: text } },
      },
    },
  }),
};

const fields = {
  ...(schemas["ResumeWithInput"]?.["properties"] as JsonObject),
  ...(schemas["ChatRequest"]?.["properties"] as JsonObject),
};

/** Fields of a request that can also be in the query. */
const requestParameters: readonly JsonObject[] = queryFields.map((name) => {
  const { description, ...schema } = fields[name] as JsonObject & { readonly description: string };
  return inQuery(name, schema, description);
});

/** The query of a route that reads events. */
const eventParameters: readonly JsonObject[] = [
  inQuery("since", whole, "Only events with a greater id."),
  inQuery("stream", flag, "A stream instead of a list."),
  inQuery("follow", flag, "A stream that stays open across waits and turns."),
  inQuery("timeout", { ...whole, maximum: 60_000 }, "How long a poll waits for an event, in milliseconds."),
  inQuery("consumer", text, "The reader that polls without since."),
  inQuery("types", text, "Types of events, separated by commas."),
  inQuery("max_depth", whole, "No events of greater depth."),
  inQuery("agent", text, "Only events of this agent."),
];

/** The last event that the reader of a stream has. */
const lastEventId: JsonObject = {
  name: "Last-Event-ID",
  in: "header",
  schema: text,
  description:
    "The last event that the reader of a stream has. Also lastEventId and last_event_id in the query.",
};

const accepted: JsonObject = {
  ...jsonResponse(ref("Accepted"), "The request is accepted."),
  headers: {
    Location: { description: "The events of the request; absent for a configuration.", schema: text },
  },
};

const nothingNew: JsonObject = {
  description: "The stream is over, and it has no event after the given position.",
};

const eventsByQuery = readEvents([
  inQuery("request_id", text, "A request."),
  inQuery("run_id", text, "A run."),
]);

const eventsById = readEvents([]);

/** The routes of an agent, by the names of the route table. */
const agentOperations: RouteOperations<keyof typeof agentRoutes> = {
  describe: routeOperation({
    summary: "Describes the agent.",
    responses: { "200": jsonResponse(ref("AgentDescriptor"), "The agent.") },
  }),
  process: routeOperation({
    summary: "Accepts a request.",
    parameters: requestParameters,
    content: body(ref("Request")),
    responses: {
      "200": jsonResponse(
        oneOfSchemas(ref("Event"), ref("ConfigureCompleted")),
        "The event that the request waited for.",
      ),
      "202": accepted,
    },
  }),
  configure: routeOperation({
    summary: "Configures a run, or the agent for later runs.",
    parameters: requestParameters.filter(
      ({ name }) => name === "run_id" || name === "wait" || name === "wait_ms",
    ),
    content: body(ref("ConfigureRequest")),
    responses: {
      "200": jsonResponse(ref("ConfigureCompleted"), "The configuration is accepted."),
      "202": accepted,
    },
  }),
  streamRequest: routeOperation({
    summary: "Accepts a request that starts or continues a turn, and streams its events.",
    parameters: [
      ...requestParameters.filter(({ name }) => name !== "wait" && name !== "wait_ms"),
      lastEventId,
    ],
    content: body(oneOfSchemas(ref("ChatRequest"), ref("OperationRequest"), ref("ResumeWithInput"))),
    responses: {
      "200": {
        description: "One frame for each event: its id, and the event as data.",
        content: stream("an event"),
      },
      "204": nothingNew,
    },
  }),
  getEvents: eventsByQuery,
  getEventsById: eventsById,
  events: eventsByQuery,
  eventsById,
  request: routeOperation({
    summary: "Returns the state of a request.",
    responses: { "200": jsonResponse(ref("RequestStatus"), "Its state.") },
  }),
  runs: routeOperation({
    summary: "Lists runs, the most recently updated first.",
    description:
      "With `stream=true` the answer is `text/event-stream`: one frame for each row of the first page, then one for each row that changes, and `{run_id, removed: true}` for a removed run. Only `agent` and `limit` apply to it.",
    parameters: [
      inQuery("stream", flag, "A stream of the rows that change instead of a list."),
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of runs."),
      inQuery("agent", text, "Only runs of this agent."),
      inQuery(
        "status",
        { type: "string", enum: ["idle", "running", "waiting", "held"] },
        "Only runs in this state.",
      ),
      inQuery(
        "finish_reason",
        { type: "string", enum: ["success", "error", "canceled"] },
        "Only runs whose newest turn ended so.",
      ),
      inQuery(
        "q",
        text,
        "Only runs that have each word of this text: it begins a word of the first input, the newest output or error, a value of the metadata, the key or an id.",
      ),
      inQuery("owner", text, "Only runs of this owner, for who sees those of all."),
      inQuery("error_code", text, "Only runs whose newest turn ended with this error."),
      inQuery(
        "updated_after",
        { type: "string", format: "date-time" },
        "Only runs that were updated at this time or later.",
      ),
      inQuery("metadata", text, "`name=value`: only runs that were created with this in their metadata."),
      inQuery(
        "order",
        { type: "string", enum: ["updated", "oldest"] },
        "`oldest` lists the least recently updated run first.",
      ),
      inQuery(
        "total",
        counted,
        "Counts the runs of a list without a search, in the header `Total-Count`: up to 10,000, which is `10000+` then, or `all`.",
      ),
      inQuery("key", text, "Only the run with this key; at the root with agent."),
      inQuery("cursor", text, "Start of the page, from the Link header."),
    ],
    responses: {
      "200": orStream(
        { ...jsonResponse(listOf(ref("RunSummary")), "A page of runs, or a stream."), headers: more },
        "a run, or `{run_id, removed: true}`",
      ),
    },
  }),
  waits: routeOperation({
    summary: "Lists the open waits, oldest first, also those beside other work of their requests.",
    parameters: [
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of waits."),
      inQuery("agent", text, "Only waits in runs of this agent."),
      inQuery("run_id", text, "Only waits of this run."),
      inQuery("asked_by", text, "Only waits that this agent asks: it can be called in a run of another one."),
      inQuery("approver", text, "Only waits that a principal with this role may answer."),
      inQuery(
        "total",
        counted,
        "Counts the waits of a list without `asked_by` and `approver`, in the header `Total-Count`, as for runs.",
      ),
      inQuery("cursor", text, "Start of the page, from the Link header."),
    ],
    responses: { "200": { ...jsonResponse(listOf(ref("WaitForInput")), "A page of waits."), headers: more } },
  }),
  schedules: routeOperation({
    summary: "Lists the times at which actors get requests and messages, in a fixed order.",
    parameters: [
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of schedules."),
      inQuery("agent", text, "Only those of actors of this agent."),
      inQuery("key", text, "Only those of the actor of the agent with this key."),
      inQuery("run_id", text, "Only those of this run."),
      inQuery("owner", text, "Only those of this owner; for who sees those of all."),
      inQuery("cursor", text, "Start of the page, from the Link header."),
    ],
    responses: { "200": { ...jsonResponse(listOf(schedule), "A page of schedules."), headers: more } },
  }),
  makeSchedule: routeOperation({
    summary:
      "Makes a schedule of an actor, or replaces the one with its id. One of cron, every_ms, at and after_ms says when.",
    content: {
      "application/json": {
        schema: object(
          {
            key: { ...text, description: "The key of the actor, which is created if there is none." },
            run_id: { ...text, description: "The run of the actor, in place of a key." },
            id: text,
            operation: { ...text, description: "The operation or the message." },
            input: {},
            cron: { ...text, description: "Five fields." },
            timezone: text,
            every_ms: { type: "number", minimum: 100 },
            at: { ...text, format: "date-time" },
            after_ms: { type: "number", minimum: 0 },
            overlap: { type: "string", enum: ["skip", "queue"] },
          },
          ["operation"],
        ),
      },
    },
    responses: { "200": jsonResponse(schedule, "The schedule.") },
  }),
  upload: routeOperation({
    summary: "Stores the body as a file. Its type is the Content-Type.",
    parameters: [inQuery("name", text, "Its name."), inQuery("run_id", text, "The run it belongs to.")],
    content: { "*/*": {} },
    responses: {
      "201": {
        ...jsonResponse(ref("UploadedArtifact"), "The file is stored."),
        headers: { Location: { description: "The file.", schema: text } },
      },
    },
  }),
  artifact: routeOperation({
    summary: "Returns a file.",
    responses: { "200": { description: "Its bytes.", content: { "*/*": {} } } },
  }),
};

function readEvents(parameters: readonly JsonObject[]): JsonObject {
  return routeOperation({
    summary: "Returns the events of a request or a run.",
    description:
      "With `stream=true` the answer is `text/event-stream`, one frame for each event, with its id.",
    parameters: [...parameters, ...eventParameters, lastEventId],
    responses: {
      "200": orStream(
        {
          ...jsonResponse(listOf(ref("Event")), "Events, oldest first, as a page or a stream."),
          headers: more,
        },
        "an event",
      ),
      "204": nothingNew,
    },
  });
}

function body(schema: JsonObject): JsonObject {
  return { "application/json": { schema } };
}
