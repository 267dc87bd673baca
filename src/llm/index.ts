export type { AiSdkTool } from "./ai-sdk-tool.ts";
export { llmAgent } from "./llm-agent.ts";
export type { LlmAgentOptions, StructuredOperations } from "./llm-agent.ts";
export type { Completion, Message, ModelToolCall, Prompt, ToolDescription } from "./prompt.ts";
export { scriptedModel } from "./scripted-model.ts";
export type { Script, ScriptStep } from "./scripted-model.ts";
export type { Tools } from "./tool-set.ts";
