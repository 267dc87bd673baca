import type { MessageView, RunView, TurnView } from "../../view/run-view.ts";

/** One line of a conversation: a message, or the end of a turn. */
export type ChatItem =
  | { readonly kind: "message"; readonly id: number; readonly message: MessageView }
  | { readonly kind: "end"; readonly id: number; readonly turn: TurnView };

/**
 * The conversation of a run: what the requested agents said, the calls they made, and every question and file at any
 * depth. What called agents said is inside of the call.
 */
export function chatItems({ messages, turns }: RunView): ChatItem[] {
  const shown = messages.filter(isInConversation).map((message): ChatItem => {
    return { kind: "message", id: message.id, message };
  });
  const ends = turns.flatMap((turn): ChatItem[] =>
    turn.endedId === undefined ? [] : [{ kind: "end", id: turn.endedId, turn }],
  );
  return merge(shown, ends);
}

/** What an actor said and did, for the card of the call that it works on. */
export function messagesOf({ messages }: RunView, actor: string): MessageView[] {
  return messages.filter((message) => message.actor === actor);
}

/** Whether the text of a turn's result was not already said by its agent. */
export function unsaidResult({ messages }: RunView, turn: TurnView): string | undefined {
  const { result, root } = turn;
  if (typeof result !== "string" || result === "") return undefined;
  const isSaid = messages.some((message) => message.kind === "text" && message.actor === root);
  return isSaid || hasOutput(turn) ? undefined : result;
}

/** Whether a turn returned something besides the text of a chat. */
export function hasOutput({ output }: TurnView): boolean {
  return output !== undefined && output !== null;
}

function isInConversation({ kind, depth }: MessageView): boolean {
  return depth === 0 || kind === "question" || kind === "answer" || kind === "file";
}

/** Joins two lists, each in the order of their ids. */
function merge(a: readonly ChatItem[], b: readonly ChatItem[]): ChatItem[] {
  const joined: ChatItem[] = [];
  let next = 0;
  for (const item of a) {
    for (let other = b[next]; other !== undefined && other.id < item.id; other = b[next]) {
      joined.push(other);
      next += 1;
    }
    joined.push(item);
  }
  joined.push(...b.slice(next));
  return joined;
}
