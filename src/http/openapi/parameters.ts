import { queryFields } from "../../protocol/requests/incoming.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { schemas } from "../../protocol/schema/json-schema.ts";
import { flag, inQuery, text, whole } from "./parts.ts";

const fields = {
  ...(schemas["ResumeWithInput"]?.["properties"] as JsonObject),
  ...(schemas["ChatRequest"]?.["properties"] as JsonObject),
};

/** Fields of a request that can also be in the query. */
export const requestParameters: readonly JsonObject[] = queryFields.map((name) => {
  const { description, ...schema } = fields[name] as JsonObject & { readonly description: string };
  return inQuery(name, schema, description);
});

/** The query of a route that reads events. */
export const eventParameters: readonly JsonObject[] = [
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
export const lastEventId: JsonObject = {
  name: "Last-Event-ID",
  in: "header",
  schema: text,
  description:
    "The last event that the reader of a stream has. Also lastEventId and last_event_id in the query.",
};
