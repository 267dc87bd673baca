import type { Event, EventOf } from "../../protocol/events/events.ts";
import { isUnder } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { OpenWait } from "../call-api.ts";

/** How a wait is answered. */
export type AnswerSender = (wait: OpenWait, values: JsonObject) => Promise<void>;

/** The fields of a WaitForInput that other servers may leave out, or that newer ones have. */
type Asked = Partial<Extract<Event, { readonly type: "WaitForInput" }>> & {
  readonly approval?: Json;
  readonly expires_at?: string;
};

/** The open waits of a request, as far as its events were read. */
export class RequestWaits {
  /** By id. That of the oldest wait is undefined when there is none. */
  readonly #open: Map<number | undefined, OpenWait> = new Map();
  readonly #answer: AnswerSender;

  constructor(answer: AnswerSender) {
    this.#answer = answer;
  }

  /** Oldest first. */
  get all(): readonly OpenWait[] {
    return [...this.#open.values()];
  }

  add(event: Event): void {
    switch (event.type as string) {
      case "WaitForInput": {
        const wait = toOpenWait(event, this.#answer);
        this.#open.set(wait.waitId, wait);
        return;
      }
      case "ResumeWithInput":
      case "WaitExpired":
        this.#open.delete((event as Asked).wait_id ?? this.all[0]?.waitId);
        return;
      case "ToolResult":
      case "ToolError":
        // A call that has ended no longer waits, for example because it was canceled.
        for (const { waitId, callId } of this.all)
          if (isUnder(callId, (event as EventOf<"ToolResult">).tool_call_id)) this.#open.delete(waitId);
        return;
      case "RequestCompleted":
        if (!(event.depth > 0)) this.#open.clear();
        return;
      default:
        return;
    }
  }
}

/** The question of a WaitForInput. */
export function toOpenWait(event: Event, answer: AnswerSender): OpenWait {
  const { schema, approval, tool, approvers, question, expires_at: expiresAt, ...asked } = event as Asked;
  const wait: OpenWait = {
    waitId: asked.wait_id ?? event.id,
    runId: event.run_id,
    requestId: asked.request_id ?? "",
    agent: event.agent,
    depth: event.depth,
    callId: asked.call_id ?? "",
    questions: asked.request_keys ?? {},
    schema,
    approval,
    tool,
    approvers,
    question,
    expiresAt,
    from: event.ts,
    answer: (values) => answer(wait, values),
  };
  return wait;
}
