import type {
  CreateElicitationResponse,
  PermissionOption,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { JsonObject } from "../../protocol/json.ts";
import type { WaitView } from "../../view/run-view.ts";
import { toApproval } from "../../view/to-answer.ts";
import { readFilledForm, readDeclinedForm, toWaitForm } from "../../view/wait-form.ts";
import type { FormAnswer } from "../../view/wait-form.ts";
import type { Editor } from "./run-tool.ts";
import { toWaitCall } from "./updates.ts";

/** A question for the person at an editor. */
export interface EditorQuestion {
  readonly editor: Editor;
  readonly sessionId: string;
  readonly toolCallId: string;
  readonly wait: WaitView;
  /** Aborted when the question is answered elsewhere, or has ended. */
  readonly signal: AbortSignal;
}

/** The answer to a permission. `always` also answers later ones of the same tool. */
export interface Permission {
  readonly values: JsonObject;
  readonly always: boolean;
}

/** Asks for a permission; undefined if the person gives and refuses none. */
export async function askPermission(question: EditorQuestion): Promise<Permission | undefined> {
  const { editor, sessionId, toolCallId, wait, signal } = question;
  const options = wait.approval === undefined ? ONCE : [...ONCE, ALWAYS];
  const asked = { sessionId, toolCall: { toolCallId, ...toWaitCall(wait) }, options };
  const { outcome } = await editor.context.request<RequestPermissionResponse>(
    "session/request_permission",
    asked,
    {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    },
  );
  if (outcome.outcome !== "selected") return undefined;
  const option = options.find(({ optionId }) => optionId === outcome.optionId);
  if (option === undefined) return undefined;
  const values = permit(wait, option.kind !== "reject_once");
  return values && { values, always: option.kind === "allow_always" };
}

/** The answer that permits a wait, or refuses it. */
export function permit(wait: WaitView, isAllowed: boolean): JsonObject | undefined {
  return toApproval(wait, isAllowed, undefined);
}

const ONCE: PermissionOption[] = [
  { optionId: "allow", name: "Allow", kind: "allow_once" },
  { optionId: "reject", name: "Reject", kind: "reject_once" },
];
const ALWAYS: PermissionOption = { optionId: "always", name: "Always allow", kind: "allow_always" };

/** Whether an editor shows forms. */
export function canShowForms({ capabilities: { elicitation } }: Editor): boolean {
  return elicitation?.form !== undefined && elicitation.form !== null;
}

/** Asks a question with a form. */
export async function askForm({ editor, sessionId, wait, signal }: EditorQuestion): Promise<FormAnswer> {
  const { message, requestedSchema } = toWaitForm(wait);
  const asked = { mode: "form", sessionId, message, requestedSchema };
  const response = await editor.context.request<CreateElicitationResponse>("elicitation/create", asked, {
    cancellationSignal: signal,
    stopWaitingOnCancel: true,
  });
  if (response.action === "accept")
    return readFilledForm(wait, ("content" in response ? response.content : {}) as JsonObject | null);
  return response.action === "decline" ? readDeclinedForm(wait) : { action: "none" };
}
