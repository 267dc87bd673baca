import { ModelError } from "../../ports/model.ts";
import type { Model } from "../../ports/model.ts";
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
 * The model named by the environment, or the given one if there is none. A named model needs the packages
 * `ai` and `@ai-sdk/openai-compatible`, which are loaded on first use.
 */
export function modelFromEnv(variables: ModelVariables, otherwise: Model): Model {
  // An empty variable counts as absent.
  const { TROUPE_MODEL_URL: url = "", TROUPE_MODEL: name = "", TROUPE_MODEL_KEY: key = "" } = variables;
  const { OPENAI_API_KEY: openAiKey = "" } = variables;
  const images = variables.TROUPE_MODEL_IMAGES !== "no";
  if (url !== "") return liveModel({ url, model: name || "default", key, images });
  if (openAiKey === "") return otherwise;
  return liveModel({ url: OPENAI_URL, model: name || OPENAI_MODEL, key: openAiKey, images });
}

const OPENAI_URL = "https://api.openai.com/v1";
const OPENAI_MODEL = "gpt-5-mini";

interface Live {
  readonly url: string;
  readonly model: string;
  readonly key: string;
  readonly images: boolean;
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

async function load({ url, model, key, images }: Live): Promise<Model> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible").catch((cause: unknown) => {
    throw new ModelError("the model in the environment needs: npm install ai @ai-sdk/openai-compatible", {
      transient: false,
      cause,
    });
  });
  const provider = createOpenAICompatible({
    name: "openai-compatible",
    baseURL: url,
    includeUsage: true,
    ...(key !== "" && { apiKey: key }),
  });
  return aiSdkModel(provider(model), { name: model, images });
}
