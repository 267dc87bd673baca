import { CLIENT_CAPABILITIES_META_KEY, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import type { ClientCapabilities, InputRequests, ServerContext } from "@modelcontextprotocol/server";
import type { Fields } from "../../protocol/json.ts";
import type { WaitView } from "../../view/run-view.ts";
import { readFilledForm, readDeclinedForm, toWaitForm } from "../../view/wait-form.ts";
import type { FormAnswer } from "../../view/wait-form.ts";

/** Whether the client can be asked in the middle of a call. */
export function canElicit({ mcpReq: { envelope } }: ServerContext): boolean {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities }: Envelope = envelope ?? {};
  const elicitation = capabilities?.elicitation;
  // A client that names no mode has forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** What a client says about itself in each request. */
interface Envelope {
  readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
}

/** The questions of waits as forms that the client shows, by the name of the wait. */
export function toElicitations(waits: readonly WaitView[]): InputRequests {
  return Object.fromEntries(
    waits.map((wait) => {
      const { message, requestedSchema } = toWaitForm(wait);
      return [
        nameOf(wait),
        inputRequired.elicit({ message, requestedSchema: requestedSchema as FormSchema }),
      ];
    }),
  );
}

type FormSchema = Parameters<typeof inputRequired.elicit>[0]["requestedSchema"];

/** Reads what came of the form of a wait. */
export function readElicited(wait: WaitView, responses: Fields | undefined): FormAnswer {
  const response = inputResponse(responses, nameOf(wait));
  if (response.kind !== "elicit" || response.action === "cancel") return { action: "none" };
  return response.action === "decline" ? readDeclinedForm(wait) : readFilledForm(wait, response.content);
}

function nameOf({ waitId }: WaitView): string {
  return `wait_${waitId}`;
}
