import type { VNode } from "preact";
import type { AgentError } from "../../errors.ts";

/** Why something could not be read or done, and what to do about it. */
export function RefusalNote({ error }: { readonly error: AgentError }): VNode {
  return (
    <div class="note failed" role="alert">
      {refusalText(error)}
    </div>
  );
}

/** The same as a text. */
export function refusalText({ message, details: { hint } }: AgentError): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}
