import type { CallId, RequestId } from "../protocol/ids.ts";
import type { Mutable, ViewDraft } from "./draft.ts";
import { baseOf, given, eventPlace } from "./event.ts";
import type { EventPlace, SentEventOf } from "./event.ts";
import { callKey } from "./run-view.ts";
import type { FileView, MachineView, OpenText, PartView, TextPart } from "./run-view.ts";

/** Adds a text to the part that its speaker continues, or begins one. */
export function addText(kind: TextPart["kind"], draft: ViewDraft, event: SentEventOf<"TextOutput">): void {
  const { content = "", branch, call_id: completion, attempt = 1 } = event;
  const place = eventPlace(event);
  const speaker = { kind, branch, completion };
  let part = openPart(draft, place.actor, speaker);
  if (attempt > 1 && completion !== undefined && part?.attempt !== attempt) {
    dropTexts(draft, place, completion, attempt);
    part = openPart(draft, place.actor, speaker);
  }
  if (part === undefined) {
    part = { ...place, id: event.id, kind, text: content, attempt, ...given({ branch, completion }) };
    draft.view.parts = draft.added(draft.view.parts, part);
    const others = (draft.view.speaking.get(place.actor) ?? []).filter(
      (open) => open.kind !== kind || open.branch !== branch || open.completion !== undefined,
    );
    draft.setSpeaking(place.actor, [...others, { ...speaker, part: part.id }]);
  } else part.text += content;
  draft.changes?.push({ type: "text", part, text: content });
}

/** Removes what earlier attempts of a completion said, because a later one replaces it. */
export function dropTexts(
  draft: ViewDraft,
  { actor }: EventPlace,
  completion: CallId,
  attempt: number,
): void {
  const { parts } = draft.view;
  const kept = parts.filter(
    (part) =>
      !("attempt" in part) ||
      part.actor !== actor ||
      part.completion !== completion ||
      part.attempt >= attempt,
  );
  if (kept.length === parts.length) return;
  draft.view.parts = kept;
  endTextsOf(draft, actor, completion);
}

/** Adds a part that is not a text. The next text of its speaker begins a new part. */
export function addPart(draft: ViewDraft, part: PartView): void {
  draft.setSpeaking(part.actor, []);
  draft.view.parts = draft.added(draft.view.parts, part);
}

/** Ends the texts of a completion. */
export function endTextsOf(draft: ViewDraft, actor: string, completion: CallId): void {
  const texts = draft.view.speaking.get(actor) ?? [];
  const others = texts.filter((text) => text.completion !== completion);
  if (others.length < texts.length) draft.setSpeaking(actor, others);
}

/** Ends all texts of a turn, at all depths. */
export function endTextsIn(draft: ViewDraft, requestId: RequestId): void {
  const turn = callKey(requestId);
  for (const actor of draft.view.speaking.keys()) if (actor.startsWith(turn)) draft.setSpeaking(actor, []);
}

export function addFile(
  draft: ViewDraft,
  event: SentEventOf<"ArtifactGenerated" | "ArtifactUploaded">,
): void {
  const { artifact_id: artifactId = "", name = "", url = "" } = event;
  const { mime_type: mimeType = "", size_bytes: sizeBytes = 0 } = event;
  const isGenerated = event.type === "ArtifactGenerated";
  const file: FileView = { artifactId, name, mimeType, sizeBytes, url, isGenerated, eventId: event.id };
  draft.view.files = draft.added(draft.view.files, file);
  const part = { ...baseOf(event), kind: "file", file } as const;
  addPart(draft, part);
  draft.changes?.push({ type: "file", part });
}

export function receive(draft: ViewDraft, event: SentEventOf<"MessageReceived">): void {
  const { message_id: messageId = "", name = "", body = null, sender, by } = event;
  const part = {
    ...baseOf(event),
    kind: "received",
    messageId,
    name,
    body,
    ...given({ sender, by }),
  } as const;
  addPart(draft, part);
  draft.changes?.push({ type: "received", part });
}

export function changeState(draft: ViewDraft, event: SentEventOf<"StateChanged">): void {
  const { agent, actor, at } = eventPlace(event);
  const { value = null, status = "active", chart, machine, steps = [] } = event;
  const key = machine === undefined ? actor : `${actor} ${machine}`;
  const known = draft.view.machines.get(key);
  let taken: MachineView["steps"] = known?.steps ?? [];
  for (const { from, event: cause, to } of steps) {
    taken = draft.added(taken, { eventId: event.id, at, from, ...given({ event: cause, to }) });
  }
  draft.setMachine(key, { agent, value, status, steps: taken, ...given({ machine, chart }) });
}

/** The part that a text of a speaker continues. */
function openPart(
  draft: ViewDraft,
  actor: string,
  { kind, branch, completion }: Omit<OpenText, "part">,
): Mutable<TextPart> | undefined {
  const open = draft.view.speaking
    .get(actor)
    ?.find((text) => text.kind === kind && text.branch === branch && text.completion === completion);
  return open && (draft.part(open.part) as Mutable<TextPart> | undefined);
}
