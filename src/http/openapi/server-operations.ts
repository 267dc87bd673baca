import type { JsonObject } from "../../protocol/json.ts";
import type { serverRoutes } from "../../protocol/routes.ts";
import { anyOf, empty, flag, inQuery, json, listOf, object, operation, ref, text, whole } from "./parts.ts";
import type { RouteOperations } from "./parts.ts";

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

const forkedFrom = object({ run_id: text, id: whole }, ["run_id", "id"]);

/** The routes of the server itself, by the names of the route table. */
export const serverOperations: RouteOperations<keyof typeof serverRoutes> = {
  agents: operation({
    summary: "Lists the agents.",
    responses: { "200": json(anyOf(listOf(ref("AgentEntry")), listOf(pair)), "All agents.") },
    parameters: [
      inQuery("format", { type: "string", enum: ["pairs"] }, "Pairs of name and path instead of objects."),
    ],
  }),
  openApi: operation({
    summary: "Returns this document.",
    responses: { "200": json({ type: "object" }, "OpenAPI 3.1.") },
  }),
  schema: operation({
    summary: "Returns the JSON Schema of a request, an event or an answer.",
    responses: {
      "200": {
        description: "The schema.",
        content: { "application/schema+json": { schema: { type: "object" } } },
      },
    },
  }),
  health: operation({
    summary: "Returns 200 while the server is alive.",
    responses: { "200": json(health, "The server is alive.") },
  }),
  readiness: operation({
    summary: "Returns whether the server accepts requests.",
    responses: {
      "200": json(object({ status: { const: "ok" }, warnings }, ["status"]), "The server accepts requests."),
    },
  }),
  metrics: operation({
    summary: "Metrics for Prometheus.",
    responses: { "200": { description: "Prometheus text.", content: { "text/plain": { schema: text } } } },
  }),
  run: operation({
    summary: "Returns a run as in the list of runs, with its newest 100 requests.",
    responses: { "200": json(ref("RunStatus"), "The run.") },
  }),
  removeRun: operation({
    summary: "Removes an idle run with its events and artifacts.",
    responses: { "204": empty("The run is removed.") },
  }),
  forkRun: operation({
    summary: "Creates a run with the history of this one up to the end of a turn.",
    content: {
      "application/json": {
        schema: object({ after: { ...whole, description: "0, or the id of a turn's RequestCompleted." } }, [
          "after",
        ]),
      },
    },
    responses: {
      "201": {
        ...json(object({ run_id: text, forked_from: forkedFrom }, ["run_id", "forked_from"]), "The new run."),
        headers: { Location: { description: "The events of the new run.", schema: text } },
      },
    },
  }),
};
