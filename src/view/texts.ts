import type { CallId } from "../protocol/ids.ts";
import { callKey } from "./fold.ts";
import type { Draft, Fold } from "./fold.ts";
import { given, placeOf } from "./event.ts";
import type { Place, Sent } from "./event.ts";
import type { MessageView } from "./run-view.ts";

type TextMessage = Extract<MessageView, { readonly kind: "text" | "reasoning" }>;

/** Adds a text to the message of its speaker, or begins one. */
export function addText(kind: TextMessage["kind"], fold: Fold, event: Sent<"TextOutput">): void {
  const { content = "", branch, call_id: completion, attempt = 1 } = event;
  const place = placeOf(event);
  const speaker = toSpeaker(kind, place, branch);
  let message = lastOf(fold, speaker);
  if (attempt > 1 && completion !== undefined && message?.attempt !== attempt) {
    dropText(fold, place, completion, attempt);
    message = lastOf(fold, speaker);
  }
  if (message?.completion === completion && message !== undefined) {
    message.text += content;
    return;
  }
  addMessage(fold, {
    ...place,
    id: event.id,
    kind,
    text: content,
    attempt,
    ...given({ branch, completion }),
  });
  fold.setSpeaking(speaker, event.id);
}

/** Removes what earlier attempts of a completion said, because a later one replaces it. */
export function dropText(fold: Fold, { requestId, actor }: Place, completion: CallId, attempt: number): void {
  const begun = fold.view.calls.get(callKey(requestId ?? "", completion))?.startedId ?? 0;
  const { messages } = fold.view;
  const first = messages.findLastIndex(({ id }) => id < begun) + 1;
  const isKept = (message: MessageView): boolean =>
    !(
      (message.kind === "text" || message.kind === "reasoning") &&
      message.actor === actor &&
      message.completion === completion &&
      message.attempt < attempt
    );
  const kept = messages.slice(first).filter(isKept);
  if (first + kept.length < messages.length) fold.view.messages = [...messages.slice(0, first), ...kept];
}

/** Adds a message that is not a text. The next text of its speaker begins a new message. */
export function addMessage(fold: Fold, message: MessageView): void {
  if (message.kind !== "text" && message.kind !== "reasoning") endTexts(fold, message.actor);
  fold.view.messages = fold.added(fold.view.messages, message);
}

/** Ends the texts of an actor, in all branches. */
export function endTexts(fold: Fold, actor: string): void {
  for (const speaker of fold.view.speaking.keys())
    if (speaker.startsWith(`${actor} `)) fold.setSpeaking(speaker, undefined);
}

function lastOf(fold: Fold, speaker: string): Draft<TextMessage> | undefined {
  const id = fold.view.speaking.get(speaker);
  return id === undefined ? undefined : (fold.message(id) as Draft<TextMessage> | undefined);
}

function toSpeaker(kind: TextMessage["kind"], { actor }: Place, branch: string = ""): string {
  return `${actor} ${kind} ${branch}`;
}
