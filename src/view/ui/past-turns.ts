/** A turn of a chat that can be done again, by the messages of the assistant that it has begun. */
export interface ShownTurn {
  readonly messageIds: readonly string[];
}

/** What a page has of a chat when it asks for a turn again. */
export interface KeptMessages {
  /** The message that it names. */
  readonly messageId?: string | undefined;
  readonly messages: readonly { readonly id: string; readonly role: string }[];
}

/**
 * The turn that a page wants to have again: that of the message that it names, otherwise the first one of which it has left a message
 * out; undefined if the page has all.
 */
export function findTurnAgain<Turn extends ShownTurn>(
  turns: readonly Turn[],
  { messageId, messages }: KeptMessages,
): Turn | undefined {
  const named = turns.find(({ messageIds }) => messageId !== undefined && messageIds.includes(messageId));
  if (named !== undefined) return named;
  const kept = new Set(messages.flatMap(({ id, role }) => (role === "assistant" ? id : [])));
  const last = turns.findLastIndex(({ messageIds }) => messageIds.some((id) => kept.has(id)));
  const newest = turns[last];
  return newest?.messageIds.some((id) => !kept.has(id)) === true ? newest : turns[last + 1];
}
