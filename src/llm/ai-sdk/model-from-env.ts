import { AgentError } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model } from "../../ports/model.ts";
import { editsBetween } from "./edits.ts";
import { aiSdkModel } from "./model.ts";

/** The environment variables that select a model, as in `process.env`. */
export interface ModelVariables {
  /** The URL of a server with OpenAI's API, up to and including its `/v1`. */
  readonly TROUPE_MODEL_URL?: string | undefined;
  /** The name of the model on that server. */
  readonly TROUPE_MODEL?: string | undefined;
  /** The key for that server, if it needs one. */
  readonly TROUPE_MODEL_KEY?: string | undefined;
  /** `no` for a model without image input. */
  readonly TROUPE_MODEL_IMAGES?: string | undefined;
  /** Without the other variables, OpenAI itself is used. */
  readonly OPENAI_API_KEY?: string | undefined;
}

/**
 * The model named by the environment, by default that of the process, or the given one if no variable names a model. Throws
 * where a variable is misspelt or does not fit the others, and where none names a model and none is given. A named model
 * needs the package `@ai-sdk/openai-compatible`, which is loaded on first use.
 *
 * @example
 * const assistant = llmAgent({ name: "assistant", purpose: "Helps.", instructions: "Help.", model: modelFromEnv() });
 */
export function modelFromEnv(variables: ModelVariables = ofProcess(), otherwise?: Model): Model {
  // An empty variable counts as absent.
  const { TROUPE_MODEL_URL: url = "", TROUPE_MODEL: name = "", TROUPE_MODEL_KEY: key = "" } = variables;
  const { OPENAI_API_KEY: openAiKey = "" } = variables;
  check(variables);
  const images = variables.TROUPE_MODEL_IMAGES !== "no";
  if (url !== "")
    return liveModel({ url, model: name || "default", key, images, keyVariable: "TROUPE_MODEL_KEY" });
  if (openAiKey !== "") {
    const model = name || OPENAI_MODEL;
    return liveModel({ url: OPENAI_URL, model, key: openAiKey, images, keyVariable: "OPENAI_API_KEY" });
  }
  if (otherwise !== undefined) return otherwise;
  throw new AgentError(
    "invalid_request",
    "no variable names a model: neither TROUPE_MODEL_URL nor OPENAI_API_KEY is set",
    {
      hint: "set OPENAI_API_KEY, or TROUPE_MODEL_URL (and TROUPE_MODEL, TROUPE_MODEL_KEY) for another server with OpenAI's API",
    },
  );
}

/** The variables of the process; none where there is no process, as in a browser. */
function ofProcess(): ModelVariables {
  const { process } = globalThis as { readonly process?: { readonly env?: ModelVariables } };
  return process?.env ?? {};
}

const OPENAI_URL = "https://api.openai.com/v1";
const OPENAI_MODEL = "gpt-5-mini";

const KNOWN: readonly (keyof ModelVariables)[] = [
  "TROUPE_MODEL_URL",
  "TROUPE_MODEL",
  "TROUPE_MODEL_KEY",
  "TROUPE_MODEL_IMAGES",
  "OPENAI_API_KEY",
];

/** Throws where variables would be ignored without notice. */
function check(variables: ModelVariables): void {
  const misspelt = Object.keys(variables).find((name) => isMisspelt(name, variables));
  if (misspelt !== undefined) {
    throw invalid(`${misspelt} is unknown; the variables of a model are ${KNOWN.join(", ")}`);
  }
  const { TROUPE_MODEL_URL: url = "", TROUPE_MODEL: name = "", TROUPE_MODEL_KEY: key = "" } = variables;
  const { TROUPE_MODEL_IMAGES: images = "", OPENAI_API_KEY: openAiKey = "" } = variables;
  if (url !== "" && !isPlainUrl(url)) {
    // The value is not repeated, since it can hold a secret.
    throw invalid(
      "TROUPE_MODEL_URL must be an http or https URL without user, password and query, for example http://localhost:8080/v1",
    );
  }
  if (key !== "" && url === "") throw invalid("TROUPE_MODEL_KEY is set, but TROUPE_MODEL_URL is not");
  if (name !== "" && url === "" && openAiKey === "") {
    throw invalid("TROUPE_MODEL is set, but neither TROUPE_MODEL_URL nor OPENAI_API_KEY");
  }
  if (!["", "yes", "no"].includes(images)) throw invalid(`TROUPE_MODEL_IMAGES is yes or no, not ${images}`);
}

/** Whether a name begins as ours do, or differs little from one of ours that is not set. */
function isMisspelt(name: string, variables: ModelVariables): boolean {
  if (KNOWN.some((known) => known === name)) return false;
  if (name.startsWith("TROUPE_MO")) return true;
  const unset = KNOWN.filter((known) => (variables[known] ?? "") === "");
  return unset.some((known) => editsBetween(toLetters(name), toLetters(known)) <= EDITS_LIMIT);
}

/** Names that differ by more single letters are not meant for each other. */
const EDITS_LIMIT = 2;

function toLetters(name: string): string {
  return name.replaceAll("_", "").toUpperCase();
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "");
}

function invalid(message: string): AgentError {
  return new AgentError("invalid_request", message);
}

interface Live {
  readonly url: string;
  readonly model: string;
  readonly key: string;
  readonly images: boolean;
  readonly keyVariable: string;
}

function liveModel(live: Live): Model {
  let loaded: Promise<Model> | undefined;
  return {
    name: live.model,
    async *generate(input, context) {
      loaded ??= load(live);
      yield* (await loaded).generate(input, context);
    },
  };
}

/** Providers whose prices are known, by the hosts of their servers. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["api.openai.com", "openai"],
  ["api.cerebras.ai", "cerebras"],
  ["api.deepseek.com", "deepseek"],
  ["api.fireworks.ai", "fireworks"],
  ["api.groq.com", "groq"],
  ["api.mistral.ai", "mistral"],
  ["api.moonshot.ai", "moonshotai"],
  ["api.perplexity.ai", "perplexity"],
  ["api.x.ai", "xai"],
]);

async function load({ url, model, key, images, keyVariable }: Live): Promise<Model> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible").catch((cause: unknown) => {
    throw new ModelError("the model in the environment needs: npm install @ai-sdk/openai-compatible", {
      cause,
    });
  });
  const provider = createOpenAICompatible({
    name: PROVIDERS.get(new URL(url).hostname) ?? "openai-compatible",
    baseURL: url,
    includeUsage: true,
    ...(key !== "" && { apiKey: key }),
  });
  return aiSdkModel(provider(model), { name: model, images, keyVariable });
}
