import { MACHINE_STATUSES } from "../../protocol/events/events.ts";
import type { EventBody, StateStep } from "../../protocol/events/events.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../../runtime/journal/json-limits.ts";
import type { ReceivedEvent } from "../stream/received-events.ts";
import { toName } from "./fields.ts";

/** The most steps of one event. */
const STEPS_LIMIT = 32;

/** The transitions of a remote machine; `undefined` for an event of another form. */
export function toStateChanged(event: ReceivedEvent): EventBody | undefined {
  const { value, steps: given, cause, chart, machine } = event;
  const status = MACHINE_STATUSES.find((known) => known === event["status"]);
  if (status === undefined || value === undefined || !Array.isArray(given)) return undefined;
  const steps = given.slice(0, STEPS_LIMIT).flatMap(toStep);
  const isTruncated = event["steps_truncated"] === true || given.length > STEPS_LIMIT;
  const body: EventBody = {
    type: "StateChanged",
    value: value as Json,
    cause: toStateName(cause),
    steps,
    ...(isTruncated && { steps_truncated: true }),
    status,
    chart: toStateName(chart),
    ...(typeof machine === "string" && { machine }),
  };
  toJson(body, "a transition of a remote machine", INPUT_LIMIT_BYTES);
  return body;
}

/** An event that a remote machine emitted. */
export function toCustom({ name, body = null }: ReceivedEvent): EventBody {
  return {
    type: "Custom",
    name: toName(name, "event"),
    body: toJson(body, "an event of a remote machine", INPUT_LIMIT_BYTES),
  };
}

function toStep(given: unknown): readonly StateStep[] {
  if (!isObject(given)) return [];
  const { from, event, to } = given;
  if (typeof from !== "string") return [];
  return [{ from, ...(typeof event === "string" && { event }), ...(typeof to === "string" && { to }) }];
}

function toStateName(value: unknown): string {
  return typeof value === "string" ? value : "";
}
