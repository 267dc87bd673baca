import { given, placeOf } from "./event.ts";
import type { Sent } from "./event.ts";
import type { Fold } from "./fold.ts";
import type { FileView, MachineView } from "./run-view.ts";
import { addMessage } from "./texts.ts";

export function addFile(fold: Fold, event: Sent<"ArtifactGenerated" | "ArtifactUploaded">): void {
  const { artifact_id: artifactId = "", name = "", url = "" } = event;
  const { mime_type: mimeType = "", size_bytes: sizeBytes = 0 } = event;
  const isGenerated = event.type === "ArtifactGenerated";
  const file: FileView = { artifactId, name, mimeType, sizeBytes, url, isGenerated, eventId: event.id };
  fold.view.files = fold.added(fold.view.files, file);
  addMessage(fold, { ...placeOf(event), id: event.id, kind: "file", file });
}

export function changeState(fold: Fold, event: Sent<"StateChanged">): void {
  const { agent, actor, at } = placeOf(event);
  const { value = null, status = "active", chart, machine, steps = [] } = event;
  const key = machine === undefined ? actor : `${actor} ${machine}`;
  const known = fold.view.machines.get(key);
  let taken: MachineView["steps"] = known?.steps ?? [];
  for (const { from, event: cause, to } of steps) {
    taken = fold.added(taken, { eventId: event.id, at, from, ...given({ event: cause, to }) });
  }
  fold.setMachine(key, {
    agent,
    value,
    status,
    steps: taken,
    ...given({ machine, chart }),
  });
}

export function receive(fold: Fold, event: Sent<"MessageReceived">): void {
  const { message_id: messageId = "", name = "", body = null, sender } = event;
  addMessage(fold, {
    ...placeOf(event),
    id: event.id,
    kind: "received",
    messageId,
    name,
    body,
    ...given({ sender }),
  });
}
