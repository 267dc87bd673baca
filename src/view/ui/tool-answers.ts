import { AgentError } from "../../errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { GivenAnswer } from "../wait-answers.ts";

/** A part of a message of the page; what it has depends on its type. */
export type UiPart = { readonly type: string; readonly [field: string]: unknown };

/** What a page says to a question that it shows as a tool call. */
export interface ToolAnswer {
  readonly toolCallId: string;
  readonly says:
    | { readonly type: "approval"; readonly approved: boolean; readonly reason?: string }
    | { readonly type: "output"; readonly output: unknown }
    | { readonly type: "error"; readonly errorText: string };
}

/** The answers in a message of the assistant, also those to questions that are closed by now. */
export function readToolAnswers(parts: readonly UiPart[]): readonly ToolAnswer[] {
  return parts.flatMap((part): ToolAnswer[] => {
    const { toolCallId, state, approval, output, errorText, providerExecuted } = part;
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
        return [
          {
            toolCallId,
            says: { type: "error", errorText: typeof errorText === "string" ? errorText : "failed" },
          },
        ];
      default:
        return [];
    }
  });
}

/** What a tool part says to its question, as all wires have it. */
export function toGivenAnswer(waitId: number, { says }: ToolAnswer): GivenAnswer {
  switch (says.type) {
    case "approval": {
      const { approved: approve, reason } = says;
      return { type: "approval", waitId, approve, ...(reason !== undefined && { reason }) };
    }
    case "output":
      return { type: "result", waitId, result: (says.output ?? null) as Json };
    case "error":
      return { type: "result", waitId, result: says.errorText, isError: true };
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
