import type { VNode } from "preact";
import { placeOfRequest } from "../../shared/trace-context.ts";
import type { TurnView } from "../../view/run-view.ts";
import { Copy } from "../parts/copy.tsx";

interface TraceIdProps {
  /** The run that the turn was done in: the origin of a fork, if it has taken the turn over. */
  readonly runId: string;
  readonly turn: TurnView;
  /** Where traces are looked at, with `{trace}` in the place of the id. */
  readonly url: string | undefined;
}

/** The trace of a turn, with a link to where traces are looked at. */
export function TraceId({ runId, turn, url }: TraceIdProps): VNode {
  const { traceId } = placeOfRequest(runId, turn.requestId, turn.trace);
  const short = traceId.slice(0, SHORT);
  return (
    <span class="run-id second" title={`The trace ${traceId} of the request ${turn.requestId}`}>
      {url === undefined ? (
        <>
          trace <code>{short}</code>
        </>
      ) : (
        <a href={url.replaceAll("{trace}", traceId)} target="_blank" rel="noreferrer noopener">
          trace <code>{short}</code> ↗
        </a>
      )}
      <Copy text={traceId} name="the id of the trace" />
    </span>
  );
}

const SHORT = 8;
