import type { VNode } from "preact";
import type { RunRequest } from "../../protocol/answers/status.ts";
import { State } from "../parts/state.tsx";
import { exactTime, timeAgo } from "../parts/time.ts";

/** The mailbox of a run: the requests that wait for the turns before them. */
export function Mailbox({ queued }: { readonly queued: readonly RunRequest[] }): VNode {
  return (
    <section class="detail" aria-label="Mailbox">
      <h2>Mailbox of the run</h2>
      <ol class="list">
        {queued.toReversed().map(({ request_id: requestId, created_at: acceptedAt }) => (
          <li key={requestId} class="mailbox-row">
            <State name="queued" />
            <code class="one-line" title={requestId}>
              {requestId}
            </code>
            <span class="second number" title={exactTime(acceptedAt)}>
              {timeAgo(acceptedAt)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
