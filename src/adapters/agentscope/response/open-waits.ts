import type { Event } from "../../../protocol/events/events.ts";
import { isUnder } from "../../../protocol/ids.ts";
import type { WaitEvent } from "./wait-message.ts";

/** The open questions of one request. */
export class OpenWaits {
  readonly #waits = new Map<number, WaitEvent>();

  /** The open questions, oldest first. */
  get all(): readonly WaitEvent[] {
    return [...this.#waits.values()];
  }

  /** The question that has been open for the longest time. */
  get oldest(): WaitEvent | undefined {
    return this.#waits.values().next().value;
  }

  /** Takes an event of the request. */
  saw(event: Event): void {
    switch (event.type) {
      case "WaitForInput":
        this.#waits.set(event.wait_id, event);
        break;
      case "ResumeWithInput":
      case "WaitExpired":
        this.#waits.delete(event.wait_id);
        break;
      case "ToolResult":
      case "ToolError":
        // A call that ends, for example because it is canceled, leaves no question open.
        for (const [id, wait] of this.#waits) {
          if (isUnder(wait.call_id, event.tool_call_id)) this.#waits.delete(id);
        }
        break;
      case "RequestCompleted":
        this.#waits.clear();
        break;
      default:
        break;
    }
  }
}
