import type { ToolErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import type { Artifact } from "../agent/turn-api.ts";
import { cutResult, toolCanceled, toToolEnd } from "../scheduler/tool-end.ts";
import type { Outcome } from "../replay/turn-journal.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { ActorContext } from "../turn/actor-context.ts";

/** The result of a call as a value, and as text for a model. */
export interface CallAnswer {
  readonly value: Json;
  readonly summary: string;
}

/** Ends a call with its result, and the files that it published. */
export function finish(
  { turn }: ActorContext,
  open: OpenCall,
  { value, summary }: CallAnswer,
  files: readonly Artifact[],
): void {
  if (!turn.calls.accepts(open)) return;
  const lines = [
    ...(summary === "" ? [] : [summary]),
    ...files.map(({ name, mimeType, url }) => `${name} (${mimeType}) ${url}`),
  ];
  const outcome: Outcome = {
    ok: true,
    value,
    text: cutResult(lines.join("\n")),
    ...(files.length > 0 && { files }),
  };
  turn.calls.settle(open, outcome, toToolEnd(open, outcome));
}

/** Ends a call with an error. */
export function fail({ turn }: ActorContext, open: OpenCall, code: ToolErrorCode, message: string): void {
  if (!turn.calls.accepts(open)) return;
  const outcome: Outcome = { ok: false, code, message };
  turn.calls.settle(open, outcome, toToolEnd(open, outcome));
}

/** Cancels a call for the code that made it, with everything under it; a call that has ended is left alone. */
export function cancel({ turn }: ActorContext, open: OpenCall): void {
  if (!open.open) return;
  const body = toolCanceled(open);
  turn.calls.stop(open, { ok: false, code: "canceled", message: body.content }, body);
}
