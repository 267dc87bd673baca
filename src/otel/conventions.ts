/**
 * The names that spans have: the semantic conventions for generative AI of OpenTelemetry, as of the commit that is named here, and
 * our own. An instrumentation that says `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental` writes the same.
 * https://github.com/open-telemetry/semantic-conventions-genai
 */
export const CONVENTIONS = {
  version: "7e7e4e763354b505b8e1f76512f17a1977b00f70",
  schemaUrl: "https://opentelemetry.io/schemas/1.41.0",
} as const;

/** Attributes of the conventions. */
export const GEN_AI = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agent: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  workflow: "gen_ai.workflow.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  cachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  tool: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolCall: "gen_ai.tool.call.id",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
} as const;

/** The class of an error, of the general conventions. */
export const ERROR_TYPE = "error.type";

/** What the conventions have no name for. */
export const TROUPE = {
  run: "troupe.run.id",
  request: "troupe.request.id",
  call: "troupe.call.id",
  operation: "troupe.operation",
  outcome: "troupe.outcome",
  attempts: "troupe.attempts",
  attempt: "troupe.attempt",
  retryOf: "troupe.retry_of",
  queuedMs: "troupe.queued_ms",
  cost: "troupe.usage.cost",
  interruptedAttempts: "troupe.usage.interrupted_attempts",
  server: "troupe.tool.server",
  calleeRequest: "troupe.callee.request.id",
  calleeRun: "troupe.callee.run.id",
  calleeKey: "troupe.callee.key",
  wait: "troupe.wait.id",
  waitState: "troupe.wait.state",
  waitTool: "troupe.wait.tool",
  until: "troupe.sleep.until",
  from: "troupe.state.from",
  to: "troupe.state.to",
  cause: "troupe.state.event",
} as const;

/** The name that the conventions have for a provider of the AI SDK; its own name for another one. */
export function toProvider(name: string): string {
  const known = PROVIDERS.find(([prefix]) => name === prefix || name.startsWith(`${prefix}.`));
  return known?.[1] ?? name;
}

/** What stands for the provider of a model whose name does not tell it, as the conventions say of errors. */
export const UNKNOWN_PROVIDER = "_OTHER";

/** The provider of agents, which run here. */
export const OWN_PROVIDER = "troupe";

const PROVIDERS: readonly (readonly [prefix: string, name: string])[] = [
  ["openai", "openai"],
  ["azure-openai", "azure.ai.openai"],
  ["azure", "azure.ai.openai"],
  ["anthropic", "anthropic"],
  ["google.vertex", "gcp.vertex_ai"],
  ["google", "gcp.gemini"],
  ["vertex", "gcp.vertex_ai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["xai", "x_ai"],
];
