import type { Event } from "../../../protocol/events/events.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject, ContentValue } from "../objects.ts";
import { toFileContent } from "./file-content.ts";
import type { Texts } from "./texts.ts";
import type { Tools } from "./tools.ts";
import { toUsage } from "./usage.ts";
import { askQuestion } from "./wait-message.ts";

/** The response that is being built. */
export interface OpenResponse {
  /** The id of the event that began it. */
  readonly began: number;
  readonly response: ResponseBuilder;
  readonly texts: Texts;
  readonly tools: Tools;
  /** The questions that it has, by the ids of their waits. */
  readonly asked: Set<number>;
}

/** The objects that an event inside a response adds to it. What called agents do is the output of their call. */
export function addEvent(open: OpenResponse, event: Event): AgentScopeObject[] {
  const { response, texts, tools, asked } = open;
  switch (event.type) {
    case "WaitForInput":
      asked.add(event.wait_id);
      return [...texts.closeOwn(), ...askQuestion(response, event)];
    case "ArtifactGenerated":
      return [...texts.closeOwn(), ...addWhole(response, toFileContent(event))];
    case "ToolTextOutput":
      return tools.progress(event.tool_call_id, event.content);
    case "TextOutput":
      if (event.depth > 0) return tools.progress(event.parent_call_id ?? "", event.content);
      return texts.add(event.content, "message", event.call_id);
    default:
      return event.depth > 0 ? [] : addStep(open, event);
  }
}

/** The steps of the asked agent itself. */
function addStep({ texts, tools }: OpenResponse, event: Event): AgentScopeObject[] {
  switch (event.type) {
    case "ReasoningOutput":
      return [...texts.closeOwn(), ...texts.add(event.content, "reasoning", event.call_id)];
    case "CompletionCall":
      return [...texts.closeOwn(), ...(event.attempt > 1 ? texts.withdraw(event.call_id) : [])];
    case "CompletionResult":
      return texts.closeCompletion(event.call_id, toUsage(event.usage));
    case "ToolCall":
      return [...texts.closeOwn(), ...tools.call(event)];
    case "ToolResult":
      return tools.result(event);
    case "ToolError":
      return tools.error(event);
    default:
      return [];
  }
}

function addWhole(response: ResponseBuilder, value: ContentValue): AgentScopeObject[] {
  const message = response.message();
  return [message.inProgress(), message.addContent(value), message.completed()];
}
