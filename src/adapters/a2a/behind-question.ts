import type { Feed } from "../../runtime/feeds.ts";
import { toFeed } from "../../runtime/queries/to-feed.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { TaskPlace } from "./place.ts";

/**
 * The events of a task that is queued, which also end when another task of its context asks something: its own client need not be the
 * one that answers.
 */
export function endedBehindQuestion(runtime: Runtime, place: TaskPlace, feed: Feed): Feed {
  return toFeed((sink) => {
    const over = new AbortController();
    const reader = feed.read({
      page: (page) => sink.page(page),
      end(error) {
        over.abort();
        sink.end(error);
      },
    });
    untilBehind(runtime, place, over.signal).then(
      (isBehind) => isBehind && reader.stop(),
      // The events of the task itself tell what is wrong.
      () => {},
    );
    return reader;
  }, feed.finished);
}

/** Resolves with true when the task waits behind a question, and with false when it has begun or nobody reads it. */
async function untilBehind(
  runtime: Runtime,
  { agent, runId, requestId }: TaskPlace,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted && (await runtime.status(requestId)).status === "queued") {
    if ((await runtime.run(runId)).status === "waiting") return true;
    // Ends when the run waits or has nothing to do.
    const feed = await runtime.follow({ kind: "run", agent, runId }, { signal });
    for await (const page of feed.pages) if (page.last) break;
  }
  return false;
}
