import type { PartView, RunView, TurnView } from "../../view/run-view.ts";

/** One line of a conversation: a message, or the end of a turn. */
export type ChatItem =
  | { readonly kind: "message"; readonly id: number; readonly message: PartView }
  | { readonly kind: "end"; readonly id: number; readonly turn: TurnView };

/**
 * The conversation of a run: what the requested agents said, the calls they made, and every question and file at any
 * depth. What called agents said is inside of the call.
 */
export function chatItems({ parts, turns }: RunView): ChatItem[] {
  const byId = new Map(turns.map((turn) => [turn.requestId, turn]));
  return parts.filter(isInConversation).flatMap((part): ChatItem[] => {
    if (part.kind !== "end") return [{ kind: "message", id: part.id, message: part }];
    const turn = byId.get(part.requestId ?? "");
    return turn === undefined ? [] : [{ kind: "end", id: part.id, turn }];
  });
}

/** What an actor said and did, for the card of the call that it works on. */
export function messagesOf({ parts }: RunView, actor: string): PartView[] {
  return parts.filter((message) => message.actor === actor);
}

/** Whether the text of a turn's result was not already said by its agent. */
export function unsaidResult({ parts }: RunView, turn: TurnView): string | undefined {
  const { result, root } = turn;
  if (typeof result !== "string" || result === "") return undefined;
  const isSaid = parts.some((message) => message.kind === "text" && message.actor === root);
  return isSaid || hasOutput(turn) ? undefined : result;
}

/** Whether a turn returned something besides the text of a chat. */
export function hasOutput({ output }: TurnView): boolean {
  return output !== undefined && output !== null;
}

function isInConversation({ kind, depth }: PartView): boolean {
  return depth === 0 || kind === "wait" || kind === "answer" || kind === "file";
}
