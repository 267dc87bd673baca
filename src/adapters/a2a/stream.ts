import type { StreamResponse } from "@a2a-js/sdk";
import { withPrefix } from "../../http/messages/mount.ts";
import { replyWithStream } from "../../http/sse/reply-with-stream.ts";
import { idOf } from "../../protocol/events/encode.ts";
import { openTask } from "./handler.ts";
import type { FindStreamed } from "./handler.ts";
import { readFold, sourceOf } from "./tasks.ts";
import type { TaskService } from "./tasks.ts";

/** Sends a task and its updates as they happen, until it waits for an answer or has ended. */
export function streamTask(
  service: TaskService,
  find: FindStreamed,
  encode: (update: StreamResponse) => unknown,
): Promise<Response> {
  const { c, host } = service;
  return replyWithStream(c, host, {
    id: undefined,
    async open(signal) {
      const { place, after } = await find();
      const { feed, fold } = await openTask(service, place, signal);
      // The stream of an answer begins with the task as it was before the answer.
      const begun = after === 0 ? fold : await readFold(sourceOf(service), place, after);
      const prefix = host.mount.addressOf(c, "");
      const toFrames = (updates: readonly StreamResponse[]): string =>
        updates.map((update) => `data: ${JSON.stringify(encode(update))}\n\n`).join("");
      return {
        feed,
        after: undefined,
        format: {
          endless: true,
          // A client takes an end for the end of the task, and comes back after a broken connection.
          breaks: true,
          opening: toFrames([{ payload: { $case: "task", value: begun.task() } }]),
          event(text) {
            const updates = fold.take(withPrefix(text, prefix));
            return idOf(text) > after ? toFrames(updates) : "";
          },
          get hasEnded() {
            return fold.hasEnded;
          },
          heartbeat: () => ": heartbeat\n\n",
          end: (leaving) => (leaving ? "" : toFrames(fold.endAtWait())),
        },
      };
    },
  });
}
