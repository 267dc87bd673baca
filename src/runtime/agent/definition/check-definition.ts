import { AgentError } from "../../../errors.ts";
import type { Agent, Schema } from "../agent.ts";

/** Marks an agent as made by this package. A copy of the object does not have the mark. */
export function markAgent<Made extends Agent>(agent: Made): Made {
  return Object.defineProperty(agent, MADE, { value: true });
}

/** Throws `invalid_request` for a value that is not an agent made by this package; `what` says where it is. */
export function checkAgent(value: unknown, what: string): asserts value is Agent {
  if (value === undefined) throw refuse(`${what} is undefined`);
  if (isObject(value) && MADE in value) return;
  const name =
    isObject(value) && typeof value["name"] === "string" ? ` (${JSON.stringify(value["name"])})` : "";
  throw refuse(
    `${what}${name} is not an agent: use the object that defineAgent, defineTool, fromMachine, llmAgent or ` +
      "remoteAgent returns, not a copy of it",
  );
}

/** Throws `invalid_request` for a value that is not a schema; `what` names it. */
export function checkSchema(value: unknown, what: string): asserts value is Schema<unknown> {
  if (isSchema(value)) return;
  const fact =
    value === undefined
      ? "is missing"
      : isObject(value) && JSON_SCHEMA_KEYS.some((key) => key in value)
        ? "is a JSON Schema"
        : "is not a schema";
  throw refuse(`${what} ${fact}: use a schema of a library that implements Standard Schema, for example zod`);
}

/** Throws `invalid_request` for an operation or a tool that lacks something; `what` names it. */
export function checkOperation(value: unknown, what: string): void {
  const { input, output, priority, read, logged, run } = Object(value) as Record<string, unknown>;
  if (read !== undefined && typeof read !== "boolean")
    throw refuse(`the read of ${what} is neither true nor false`);
  if (logged !== undefined && typeof logged !== "boolean")
    throw refuse(`the logged of ${what} is neither true nor false`);
  if (logged !== undefined && read !== true)
    throw refuse(
      `${what} has the option logged, which is for operations with read: true; all others are logged`,
    );
  if (priority !== undefined && !Number.isFinite(priority))
    throw refuse(`the priority of ${what} is not a number`);
  checkSchema(input, `the input of ${what}`);
  if (output !== undefined) checkSchema(output, `the output of ${what}`);
  if (typeof run !== "function") throw refuse(`${what} has no function run`);
}

/** Whether a value is a schema of a library that implements Standard Schema. */
export function isSchema(value: unknown): value is Schema<unknown> {
  // The schemas of some libraries are functions.
  if (!isObject(value) && typeof value !== "function") return false;
  const standard = (value as { readonly "~standard"?: unknown })["~standard"];
  return isObject(standard) && typeof standard["validate"] === "function";
}

/**
 * A registered symbol, so that it is the same in all copies of the package in a process: a command and a project may
 * each have one.
 */
const MADE = Symbol.for("troupe.agent");

const JSON_SCHEMA_KEYS = ["type", "properties", "$schema", "anyOf", "$ref"];

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}

function refuse(message: string): AgentError {
  return new AgentError("invalid_request", message);
}
