import { ModelError } from "../../ports/model.ts";
import type { Model } from "../../ports/model.ts";
import { aiSdkModel } from "./model.ts";

/** The variables that say which model is asked, as `process.env` has them. */
export interface ModelVariables {
  /** Where a server answers as OpenAI's does, up to and with its `/v1`. */
  readonly TROUPE_MODEL_URL?: string | undefined;
  /** The model's name there. */
  readonly TROUPE_MODEL?: string | undefined;
  /** The key for that server, where it wants one. */
  readonly TROUPE_MODEL_KEY?: string | undefined;
  /** `no` for a model that cannot see pictures. */
  readonly TROUPE_MODEL_IMAGES?: string | undefined;
  /** With this alone, OpenAI itself is asked. */
  readonly OPENAI_API_KEY?: string | undefined;
}

/**
 * The model that the environment names, or the one given where it names none. A named one needs the
 * packages `ai` and `@ai-sdk/openai-compatible`, which are loaded when it is first asked.
 */
export function modelFromEnv(variables: ModelVariables, otherwise: Model): Model {
  // A variable that is empty is one that is not there.
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
    throw new ModelError("a live model needs: npm install ai @ai-sdk/openai-compatible", {
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
