import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Request } from "../../protocol/requests/requests.ts";
import type { CreateRunOptions } from "../api.ts";

/**
 * Takes out of a text what must never be in the log, for example the number of a card that a person types. The same text must
 * always give the same result: a request that is sent again is compared with the first one.
 */
export type Redact = (text: string, about: RedactedText) => string;

/** What a text is for. */
export interface RedactedText {
  readonly agent: string;
  /** Whose request it is in. */
  readonly owner: string;
}

/** Redacts what people and programs send, before anything of it is stored, sent on or given to an agent. */
export class Redaction {
  readonly #redact: Redact | undefined;

  constructor(redact: Redact | undefined) {
    this.#redact = redact;
  }

  /** A request without what is taken out of its input, its message, its answer and its metadata. */
  request(request: Request, about: RedactedText): Request {
    return this.#fields(request, REQUEST_FIELDS, about);
  }

  /** The values of an answer. */
  answer(values: JsonObject, about: RedactedText): JsonObject {
    return this.#redact === undefined ? values : (this.#value(this.#redact, values, about) as JsonObject);
  }

  /** What a run is created with. */
  run(run: CreateRunOptions, about: RedactedText): CreateRunOptions {
    return this.#fields(run, RUN_FIELDS, about);
  }

  #fields<Given extends object>(given: Given, names: readonly string[], about: RedactedText): Given {
    const redact = this.#redact;
    if (redact === undefined) return given;
    const changed = names.filter((name) => Object.hasOwn(given, name));
    const values = given as { readonly [name: string]: Json };
    return {
      ...given,
      ...Object.fromEntries(changed.map((name) => [name, this.#value(redact, values[name], about)])),
    };
  }

  #value(redact: Redact, value: Json | undefined, about: RedactedText): Json | undefined {
    if (typeof value === "string") return redacted(redact, value, about);
    if (Array.isArray(value)) return value.map((each) => this.#value(redact, each, about) ?? null);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.#value(redact, each, about) ?? null]),
    );
  }
}

/** Configurations are not among them: their secret values have a store of their own, and others are needed as they are. */
const REQUEST_FIELDS = ["input", "body", "request_keys", "request_metadata"];
const RUN_FIELDS = ["input", "metadata"];

/** What a request contains is not accepted if the function fails, and is not in the error. */
function redacted(redact: Redact, text: string, about: RedactedText): string {
  let result: unknown;
  let cause: unknown;
  try {
    result = redact(text, about);
  } catch (thrown) {
    cause = thrown;
  }
  if (typeof result === "string") return result;
  throw new AgentError("internal", "the option redact has failed, so the request is not accepted", {
    hint: "it must return a text for every text",
    ...(cause !== undefined && { cause: new Error(cause instanceof Error ? cause.name : "it threw") }),
  });
}
