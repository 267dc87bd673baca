export type { ApprovalBy, ApprovalRule, Approvals } from "./approval.ts";
export { aiSdkModel } from "./ai-sdk/model.ts";
export type { AiSdkModelOptions } from "../runtime/model/provider-model.ts";
export type { TokenPrice } from "../ports/prices.ts";
export type { LanguageModel } from "../ports/model.ts";
export type { AiSdkTool } from "./ai-sdk/tool.ts";
export type { CallContext, ModelGuard, GuardContext, PromptContext, Verdict } from "./guards.ts";
export { llmAgent } from "./llm-agent.ts";
export type { LlmStep } from "./converse.ts";
export type { LlmAgentOptions, LlmMessages, ModelChoice, StructuredOperations } from "./llm-agent.ts";
export type { McpOAuth, McpServer, NamedTexts, OfTurn } from "./mcp/server.ts";
export { mcpTools } from "./mcp/tools.ts";
export type { McpTools, McpToolsOptions } from "./mcp/tools.ts";
export { modelFromEnv } from "./ai-sdk/model-from-env.ts";
export type { ModelVariables } from "./ai-sdk/model-from-env.ts";
export type {
  Completion,
  GuardedAnswer,
  Instruction,
  Instructions,
  Message,
  MessageFile,
  ModelSettings,
  ModelToolCall,
  Prompt,
  ProviderOptions,
  ProviderTool,
  ToolDescription,
} from "../runtime/model/prompt.ts";
export { scriptedModel } from "./scripted-model.ts";
export type { Script, ScriptStep, ScriptedModelOptions } from "./scripted-model.ts";
export type { Tools } from "./tool-set.ts";
