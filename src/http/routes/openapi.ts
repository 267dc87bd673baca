import type { JsonObject } from "../../protocol/json.ts";
import { components } from "../../protocol/json-schema.ts";
import {
  empty,
  flag,
  inPath,
  inQuery,
  json,
  listOf,
  operation,
  ref,
  text,
  whole,
  withOperationIds,
} from "./openapi-parts.ts";
import type { Responses } from "./openapi-parts.ts";

/**
 * Describes all routes as an OpenAPI 3.1 document. The schemas are the ones that requests are validated with.
 */
export function createOpenApi(agents: readonly string[]): JsonObject {
  const agent = { name: "agent", in: "path", required: true, schema: { type: "string", enum: agents } };
  return {
    openapi: "3.1.0",
    info: {
      title: "Agent Protocol",
      version: "2025-draft",
      description: "Agents as actors with one durable event log: send requests, read events.",
    },
    // A server without a token also accepts requests without one.
    security: [{}, { bearer: [] }],
    paths: withOperationIds({
      ...serverPaths,
      ...agentPaths("", []),
      ...agentPaths("/{agent}", [agent]),
      "/runs/{run_id}": {
        parameters: [inPath("run_id")],
        delete: operation("Removes an idle run with its events and artifacts.", {
          "204": empty("The run is removed."),
        }),
      },
      "/runs/{run_id}/fork": {
        parameters: [inPath("run_id")],
        post: operation(
          "Creates a run with this one's history up to the end of a turn.",
          { "201": json(forked, "The new run; Location is the path of its events.") },
          [],
          { "application/json": { schema: forkPoint } },
        ),
      },
    }),
    components: {
      schemas: { ...components },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
}

const forkPoint: JsonObject = {
  type: "object",
  properties: { after: { ...whole, description: "0, or the id of a turn's RequestCompleted." } },
  required: ["after"],
};

const forked: JsonObject = {
  type: "object",
  properties: {
    run_id: text,
    forked_from: { type: "object", properties: { run_id: text, id: whole }, required: ["run_id", "id"] },
  },
  required: ["run_id", "forked_from"],
};

const accepted = {
  "202": {
    description: "The request was accepted; Location is the path of its events.",
    headers: { Location: { schema: text } },
    content: { "application/json": { schema: ref("Accepted") } },
  },
};

const frames: JsonObject = {
  description: "Frames, each with an id and one event as data.",
  content: { "text/event-stream": { schema: text } },
};

const eventQuery: readonly JsonObject[] = [
  inQuery("since", whole, "Only events with a greater id."),
  inQuery("stream", flag, "A stream instead of a list."),
  inQuery("follow", flag, "A stream that stays open across waits and turns."),
  inQuery(
    "timeout",
    { ...whole, maximum: 60_000 },
    "Maximum wait of a poll for a first event, in milliseconds.",
  ),
  inQuery("consumer", text, "Name of the reader, for polls without since."),
  inQuery("types", text, "Event types, separated by commas."),
  inQuery("max_depth", whole, "Only events up to this depth."),
  inQuery("agent", text, "Only events of this agent."),
];

const serverPaths: JsonObject = {
  "/": {
    get: operation("Lists the agents.", { "200": json(listOf(ref("AgentEntry")), "All agents.") }, [
      inQuery("format", { type: "string", enum: ["pairs"] }, "Pairs of name and path instead of objects."),
    ]),
  },
  "/openapi.json": { get: operation("This document.", { "200": json({}, "OpenAPI 3.1.") }) },
  "/schemas/{name}.json": {
    parameters: [inPath("name")],
    get: operation("Returns the JSON Schema of a request, an event or an answer.", {
      "200": { description: "The schema.", content: { "application/schema+json": {} } },
    }),
  },
  "/healthz": { get: operation("Reports that the process is alive.", { "200": json({}, "It is alive.") }) },
  "/readyz": {
    get: operation("Reports whether the server accepts requests.", { "200": json({}, "It does.") }),
  },
  "/metrics": {
    get: operation("Metrics for Prometheus.", {
      "200": { description: "Prometheus text.", content: { "text/plain": { schema: text } } },
    }),
  },
};

function agentPaths(base: string, parameters: readonly JsonObject[]): JsonObject {
  const read = (summary: string, query = eventQuery): JsonObject =>
    operation(
      summary,
      {
        "200": {
          description: "Events, oldest first; a Link header has the next page.",
          content: {
            "application/json": { schema: listOf(ref("Event")) },
            "text/event-stream": { schema: text },
          },
        },
        "204": empty("The stream has ended; there is nothing after the given position."),
      },
      query,
    );
  const byName = [
    inQuery("request_id", text, "A request."),
    inQuery("run_id", text, "A run."),
    ...eventQuery,
  ];
  const ask = (schema: JsonObject, responses: Responses, summary: string): JsonObject =>
    operation(summary, responses, [], { "application/json": { schema } });
  const event = json(ref("Event"), "The event that the client waited for.");

  const paths: { [path: string]: JsonObject } = {
    "/describe": {
      get: operation("Describes the agent.", { "200": json(ref("AgentDescriptor"), "The agent.") }),
    },
    "/process": { post: ask(ref("Request"), { "200": event, ...accepted }, "Accepts a request.") },
    "/configure": {
      post: ask(
        ref("ConfigureRequest"),
        { "200": json(ref("ConfigureCompleted"), "The configuration was accepted."), ...accepted },
        "Configures a run, or the agent for later runs.",
      ),
    },
    "/stream_request": {
      post: ask(
        ref("Request"),
        { "200": frames },
        "Accepts a request that starts or continues a turn, and streams its events.",
      ),
    },
    "/getevents": { get: read("Reads the events of a request or a run.", byName) },
    "/events": { get: read("Reads the events of a request or a run.", byName) },
    "/getevents/{id}": { parameters: [inPath("id")], get: read("Reads the events of a request or a run.") },
    "/events/{id}": { parameters: [inPath("id")], get: read("Reads the events of a request or a run.") },
    "/artifacts": {
      post: operation(
        "Uploads a file: its bytes are the body, its type is the Content-Type.",
        { "201": json(ref("UploadedArtifact"), "The file is stored.") },
        [inQuery("name", text, "Its name."), inQuery("run_id", text, "The run to add the file to.")],
        { "*/*": {} },
      ),
    },
    "/artifacts/{artifact_id}": {
      parameters: [inPath("artifact_id")],
      get: operation("Downloads a file.", { "200": { description: "Its bytes.", content: { "*/*": {} } } }),
    },
    "/request/{request_id}": {
      parameters: [inPath("request_id")],
      get: operation("Returns the state of a request.", { "200": json(ref("RequestStatus"), "Its state.") }),
    },
    "/runs": {
      get: operation(
        "Lists runs, the most recently updated first.",
        { "200": json(listOf(ref("RunSummary")), "A page; a Link header has the next one.") },
        [
          inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of runs."),
          inQuery("agent", text, "Only runs of this agent."),
          inQuery(
            "status",
            { type: "string", enum: ["idle", "running", "waiting"] },
            "Only runs with this status.",
          ),
          inQuery("cursor", text, "Position of the page; taken from the Link header."),
        ],
      ),
    },
  };
  const entries = Object.entries(paths).map(([path, item]) => [
    `${base}${path}`,
    {
      ...item,
      parameters: [...parameters, ...((item["parameters"] as readonly JsonObject[] | undefined) ?? [])],
    },
  ]);
  return Object.fromEntries(entries) as JsonObject;
}
