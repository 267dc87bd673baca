import type { MessageBuilder } from "../builders/message.ts";
import type { MessageObject, ObjectError } from "../objects.ts";

/** How a response ends, and with it the messages that are still open. */
export type ResponseEnd =
  | { readonly status: "completed" }
  | { readonly status: "canceled" }
  | { readonly status: "failed"; readonly error: ObjectError };

/** Ends a message whose contents have ended. */
export function endMessage(message: MessageBuilder, ending: ResponseEnd): MessageObject {
  switch (ending.status) {
    case "completed":
      return message.completed();
    case "canceled":
      return message.canceled();
    case "failed":
      return message.failed(ending.error);
    default: {
      const never: never = ending;
      return never;
    }
  }
}
