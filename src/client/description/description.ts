import type { ReadinessPart } from "../../ports/readiness.ts";
import { checkJson } from "../../protocol/schema/check-json.ts";
import type { Operation, Operations, Schema } from "../../runtime/agent/agent.ts";
import { chatInput, chatOutput } from "../../runtime/agent/definition/definition.ts";
import { anyValue, handwrittenSchema } from "../../runtime/agent/definition/handwritten-schema.ts";
import { validateValue } from "./validate-value.ts";
import { within } from "../../shared/clock.ts";
import type { Wire } from "../wire/wire.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";
import { SingleFlight } from "../../shared/single-flight.ts";

/** The description of a remote agent, fetched when needed and cached. */
export class RemoteDescription {
  readonly #wire: Wire;
  readonly #refreshMs: number;
  #description: Description | undefined;
  readonly #asking = new SingleFlight(() => this.#ask());
  /** The time of the last fetch, successful or not. */
  #askedAt = -Infinity;
  /** Whether the last fetch failed. */
  #isAway = false;

  constructor(wire: Wire, refreshMs: number) {
    this.#wire = wire;
    this.#refreshMs = refreshMs;
  }

  get known(): boolean {
    return this.#description !== undefined;
  }

  /** Whether its requests can name a run by key. */
  get keys(): boolean {
    return this.#description?.keys ?? false;
  }

  get purpose(): string | undefined {
    return this.#description?.purpose;
  }

  /** Its operations; only `chat` until they are known. */
  get operations(): Operations {
    return this.#description?.operations ?? JUST_CHAT;
  }

  /**
   * Resolves when the description is known, or could not be fetched in time. An old description is refreshed
   * in the background. One that was never known is fetched at each use: its server may have started since.
   */
  async ready(): Promise<void> {
    const { clock } = this.#wire;
    const patienceMs = this.#isAway ? Math.min(this.#refreshMs, RETRY_MS) : this.#refreshMs;
    const isDue = !this.known || clock.monotonic() - this.#askedAt > patienceMs;
    if (isDue) void this.#asking.run();
    const { running } = this.#asking;
    if (this.known || running === undefined) return;
    await within(clock, PATIENCE_MS, running);
  }

  /** Whether its server has sent the description when it was asked last; one that has not is asked again. */
  readiness(agent: string): ReadinessPart {
    void this.ready();
    const name = "remote";
    if (!this.#isAway) return { name, state: "ready" };
    return { name, state: "degraded", detail: `the server of agent ${agent} does not answer` };
  }

  async #ask(): Promise<void> {
    const { clock } = this.#wire;
    try {
      const { json } = await this.#wire.ask("GET", "/describe", { timeoutMs: TIMEOUT_MS });
      this.#description = parseDescription(json) ?? this.#description;
      this.#isAway = false;
    } catch {
      // The error is reported when the agent is called; until then the last description is used.
      this.#isAway = true;
    } finally {
      this.#askedAt = clock.monotonic();
    }
  }
}

const TIMEOUT_MS = 10_000;
const PATIENCE_MS = 3_000;
const RETRY_MS = 5_000;

const PURPOSE_LIMIT = 1_000;
const OPERATIONS_LIMIT = 256;
const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

interface Description {
  readonly purpose: string;
  readonly keys: boolean;
  readonly operations: Operations;
}

/** Parses the usable parts of a descriptor. */
function parseDescription(json: unknown): Description | undefined {
  if (!isObject(json) || checkJson(json).length > 0) return undefined;
  const { purpose, operations, keys } = json;
  const described = (Array.isArray(operations) ? operations : []).slice(0, OPERATIONS_LIMIT);
  const known = described.filter(isObject).flatMap((operation): [string, Operation][] => {
    const { name } = operation;
    return typeof name === "string" && NAME.test(name) ? [[name, toOperation(operation)]] : [];
  });
  return {
    purpose: typeof purpose === "string" ? purpose.slice(0, PURPOSE_LIMIT) : "",
    keys: keys === true,
    // Every agent has a chat, even if its list lacks it.
    operations: { ...JUST_CHAT, ...Object.fromEntries(known) },
  };
}

function toOperation({ name, description, input_schema: input, output_schema: output }: Fields): Operation {
  const isChat = name === "chat";
  return {
    description: typeof description === "string" ? description.slice(0, PURPOSE_LIMIT) : "",
    input: isObject(input) ? toSchema(input as JsonObject) : isChat ? chatInput : anyValue,
    ...(isObject(output) && { output: toSchema(output as JsonObject) }),
    run: notHere,
  };
}

/** A schema that only carries the JSON Schema it was received as. */
function toSchema(jsonSchema: JsonObject): Schema<unknown> {
  return handwrittenSchema((value) => {
    const issues = validateValue(jsonSchema, value);
    if (issues.length === 0) return { value };
    return {
      issues: issues.map(({ path, message }) => ({ message, path: path.split(".").filter(Boolean) })),
    };
  }, jsonSchema);
}

const JUST_CHAT: Operations = {
  chat: { description: "", input: chatInput, output: chatOutput, run: notHere },
};

/** The remote call replaces this. */
function notHere(): never {
  throw new Error("the operations of a remote agent are performed on another server");
}
