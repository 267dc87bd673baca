import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Questions } from "../../protocol/events/event-body.ts";
import type { GivenAnswer } from "../wait-answers.ts";

/** A part of a message of the page; what it has depends on its type. */
export type UiPart = { readonly type: string; readonly [field: string]: unknown };

/** What a page says to a question that it shows as a tool call. */
export interface ToolAnswer {
  readonly toolCallId: string;
  readonly says:
    | { readonly type: "approval"; readonly approved: boolean; readonly reason?: string }
    | { readonly type: "output"; readonly output: unknown }
    | { readonly type: "error" };
}

/** The answers in a message of the assistant, also those to questions that are closed by now. */
export function readToolAnswers(parts: readonly UiPart[]): readonly ToolAnswer[] {
  return parts.flatMap((part): ToolAnswer[] => {
    const { toolCallId, state, approval, output, providerExecuted } = part;
    if (typeof toolCallId !== "string" || providerExecuted === true) return [];
    switch (state) {
      case "approval-responded": {
        const { approved, reason } = isObject(approval) ? approval : {};
        if (typeof approved !== "boolean") throw wrongAnswer("approval.approved", "must be true or false");
        const says = { type: "approval", approved, ...(typeof reason === "string" && { reason }) } as const;
        return [{ toolCallId, says }];
      }
      case "output-available":
        return [{ toolCallId, says: { type: "output", output } }];
      case "output-error":
        return [{ toolCallId, says: { type: "error" } }];
      default:
        return [];
    }
  });
}

/** What a tool part says to its question, as all wires have it. */
export function toGivenAnswer(questions: Questions, { says }: ToolAnswer): GivenAnswer {
  switch (says.type) {
    case "approval": {
      const { approved: approve, reason } = says;
      return { type: "approval", waitId: undefined, approve, ...(reason !== undefined && { reason }) };
    }
    case "output": {
      const { output } = says;
      if (typeof output === "string") return { type: "text", text: output };
      if (isObject(output)) return { type: "values", values: output as JsonObject };
      const [only, ...others] = Object.keys(questions);
      if (only === undefined || others.length > 0) return { type: "values", values: {} };
      return { type: "values", values: { [only]: (output ?? null) as Json } };
    }
    case "error":
      throw wrongAnswer("errorText", "is no answer to a question");
    default: {
      const never: never = says;
      return never;
    }
  }
}

function wrongAnswer(path: string, message: string): AgentError {
  return new AgentError("unprocessable", `${path} ${message}`, { issues: [{ path, message }] });
}

/** What was said before the last message, as text. */
export function earlierTexts(
  messages: readonly { readonly role: string; readonly parts: readonly UiPart[] }[],
): readonly Json[] {
  return messages.slice(0, -1).flatMap(({ role, parts }): Json[] => {
    const content = parts
      .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? text : []))
      .join("\n");
    return content === "" ? [] : [{ role, content }];
  });
}
