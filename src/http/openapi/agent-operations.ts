import type { JsonObject } from "../../protocol/json.ts";
import type { agentRoutes } from "../../protocol/routes.ts";
import { anyOf, flag, inQuery, json, listOf, operation, ref, text, whole } from "./parts.ts";
import type { RouteOperations } from "./parts.ts";
import { eventParameters, lastEventId, requestParameters } from "./parameters.ts";

const accepted: JsonObject = {
  ...json(ref("Accepted"), "The request is accepted."),
  headers: {
    Location: { description: "The events of the request; absent for a configuration.", schema: text },
  },
};

const more: JsonObject = {
  Link: { description: 'The next page, with rel="next"; an empty page can have one.', schema: text },
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
export const agentOperations: RouteOperations<keyof typeof agentRoutes> = {
  describe: operation({
    summary: "Describes the agent.",
    responses: { "200": json(ref("AgentDescriptor"), "The agent.") },
  }),
  process: operation({
    summary: "Accepts a request.",
    parameters: requestParameters,
    content: body(ref("Request")),
    responses: {
      "200": json(anyOf(ref("Event"), ref("ConfigureCompleted")), "The event that the request waited for."),
      "202": accepted,
    },
  }),
  configure: operation({
    summary: "Configures a run, or the agent for later runs.",
    parameters: requestParameters.filter(
      ({ name }) => name === "run_id" || name === "wait" || name === "wait_ms",
    ),
    content: body(ref("ConfigureRequest")),
    responses: {
      "200": json(ref("ConfigureCompleted"), "The configuration is accepted."),
      "202": accepted,
    },
  }),
  streamRequest: operation({
    summary: "Accepts a request that starts or continues a turn, and streams its events.",
    parameters: [
      ...requestParameters.filter(({ name }) => name !== "wait" && name !== "wait_ms"),
      lastEventId,
    ],
    content: body(anyOf(ref("ChatRequest"), ref("OperationRequest"), ref("ResumeWithInput"))),
    responses: {
      "200": {
        description: "One frame for each event: its id, and the event as data.",
        content: { "text/event-stream": { schema: text } },
      },
      "204": nothingNew,
    },
  }),
  getEvents: eventsByQuery,
  getEventsById: eventsById,
  events: eventsByQuery,
  eventsById,
  request: operation({
    summary: "Returns the state of a request.",
    responses: { "200": json(ref("RequestStatus"), "Its state.") },
  }),
  runs: operation({
    summary: "Lists runs, the most recently updated first.",
    description:
      "With `stream=true` the answer is `text/event-stream`: one frame for each row of the first page, then one for each row that changes, and `{run_id, removed: true}` for a removed run. Only `agent` and `limit` apply to it.",
    parameters: [
      inQuery("stream", flag, "A stream of the rows that change instead of a list."),
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of runs."),
      inQuery("agent", text, "Only runs of this agent."),
      inQuery("status", { type: "string", enum: ["idle", "running", "waiting"] }, "Only runs in this state."),
      inQuery(
        "finish_reason",
        { type: "string", enum: ["success", "error", "canceled"] },
        "Only runs whose newest turn ended so.",
      ),
      inQuery(
        "q",
        text,
        "Only runs whose first input contains this text, or whose id or key begins with it.",
      ),
      inQuery("key", text, "Only the run with this key; at the root with agent."),
      inQuery("cursor", text, "Start of the page, from the Link header."),
    ],
    responses: { "200": { ...json(listOf(ref("RunSummary")), "A page of runs."), headers: more } },
  }),
  waits: operation({
    summary: "Lists the open waits, oldest first, also those beside other work of their requests.",
    parameters: [
      inQuery("limit", { ...whole, minimum: 1, maximum: 1_000 }, "Maximum number of waits."),
      inQuery("agent", text, "Only waits in runs of this agent."),
      inQuery("run_id", text, "Only waits of this run."),
      inQuery("cursor", text, "Start of the page, from the Link header."),
    ],
    responses: { "200": { ...json(listOf(ref("WaitForInput")), "A page of waits."), headers: more } },
  }),
  upload: operation({
    summary: "Stores the body as a file. Its type is the Content-Type.",
    parameters: [inQuery("name", text, "Its name."), inQuery("run_id", text, "The run it belongs to.")],
    content: { "*/*": {} },
    responses: {
      "201": {
        ...json(ref("UploadedArtifact"), "The file is stored."),
        headers: { Location: { description: "The file.", schema: text } },
      },
    },
  }),
  artifact: operation({
    summary: "Returns a file.",
    responses: { "200": { description: "Its bytes.", content: { "*/*": {} } } },
  }),
};

// A client that is generated from the document reads one type for a status, so the stream is only in words.
function readEvents(parameters: readonly JsonObject[]): JsonObject {
  return operation({
    summary: "Returns the events of a request or a run.",
    description:
      "With `stream=true` the answer is `text/event-stream`: one frame for each event, with its id and the event as data.",
    parameters: [...parameters, ...eventParameters, lastEventId],
    responses: {
      "200": { ...json(listOf(ref("Event")), "Events, oldest first."), headers: more },
      "204": nothingNew,
    },
  });
}

function body(schema: JsonObject): JsonObject {
  return { "application/json": { schema } };
}
