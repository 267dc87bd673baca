export { ActorOutline, ConversationPane, ToolCallRow } from "./conversation.ts";
export type { ConversationProps, ToolCallProps, ToolViews } from "./conversation.ts";
export { ApprovalButtons, AnswerForm } from "./answer-form.ts";
export type { AnswerFormProps } from "./answer-form.ts";
