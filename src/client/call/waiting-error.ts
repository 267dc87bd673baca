import { AgentError } from "../../errors.ts";
import type { OpenWait } from "../call-api.ts";

/** A turn waits for an answer, and the call has no option `answer`. The turn stays open on the server. */
export class WaitingError extends AgentError {
  /** The open questions. An answer continues the turn; awaiting the call again then gives its output. */
  readonly waits: readonly OpenWait[];

  constructor(waits: readonly OpenWait[]) {
    const asked = waits.map(({ agent, questions }) => `${agent} asks: ${Object.values(questions).join(" ")}`);
    super("waiting", `the turn waits for an answer. ${asked.join("; ")}`, {
      hint: "call error.waits[0].answer(values), or give the option answer or patient",
    });
    this.waits = waits;
  }
}
