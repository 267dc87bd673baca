import { ModelError } from "../../ports/model.ts";
import type { LanguageModel, Model } from "../../ports/model.ts";
import { toQueueOptions } from "../../runtime/agent/call-options.ts";
import { providerModel } from "../../runtime/model/provider-model.ts";
import type { AiSdkModelOptions } from "../../runtime/model/provider-model.ts";

/**
 * Says how a model of the AI SDK is used, which `turn.complete` and `llmAgent` also take as it is: a language model of a
 * provider, which needs no other package, or the name of one at the gateway, as `anthropic/claude-sonnet-4.5`, which
 * needs the package `ai`, version 7.
 */
export function aiSdkModel(model: LanguageModel | string, options: AiSdkModelOptions = {}): Model {
  return typeof model === "string" ? gatewayModel(model, options) : providerModel(model, options);
}

/** A model that is looked up by its name when it is asked for the first time. */
function gatewayModel(id: string, options: AiSdkModelOptions): Model {
  const { name = id, keyVariable = "AI_GATEWAY_API_KEY" } = options;
  let found: Promise<Model> | undefined;
  return {
    name,
    ...(options.account !== undefined && { account: options.account }),
    ...toQueueOptions(options, `model ${name}`),
    async *generate(input, context) {
      found ??= lookUp(id).then((model) => providerModel(model, { ...options, name, keyVariable }));
      yield* (await found).generate(input, context);
    },
  };
}

/** Looks a name up as the AI SDK does. */
async function lookUp(id: string): Promise<LanguageModel> {
  const { AI_SDK_DEFAULT_PROVIDER: own } = globalThis as {
    readonly AI_SDK_DEFAULT_PROVIDER?: { languageModel(id: string): LanguageModel };
  };
  if (own !== undefined) return own.languageModel(id);
  try {
    const { gateway } = await import("ai");
    return gateway.languageModel(id);
  } catch (cause) {
    throw new ModelError(`the model ${id} of the gateway needs: npm install ai`, { cause });
  }
}
