import { canonical } from "../../protocol/json.ts";
import type { CallMode, Callee } from "../../protocol/actors.ts";
import type { Json } from "../../protocol/json.ts";
import type { AwaitedMessage as Awaited } from "../journal/records.ts";

/**
 * A signature describes a step of a handler in one line: kind, name, arguments or text. On replay it must be
 * equal; the error message shows it if it is not.
 */
export type Signature = string;

/** Read the time. */
export const NOW: Signature = "now";

/** Read a random number. */
export const RANDOM: Signature = "random";

/** Sent a text. The log has the bare text instead; this is for error messages. */
export function textSignature(content: string): Signature {
  return `text ${JSON.stringify(content)}`;
}

/** Called an agent or ran an effect. */
export function callSignature(functionName: string, args: Json): Signature {
  return `call ${functionName} ${canonical(args)}`;
}

/** Asked or told an actor. */
export function actorSignature(
  mode: CallMode,
  { name, key, run_id: runId }: Callee,
  call: string,
): Signature {
  return `${mode} ${name}/${key ?? runId ?? ""}: ${call}`;
}

/** Asked a model. The input is not stored, and different code may use a logged answer. */
export const COMPLETION: Signature = "completion";

/** Asked the caller. */
export function waitSignature(questions: { readonly [key: string]: string }): Signature {
  return `wait for ${canonical(questions)}`;
}

/** Slept. */
export function sleepSignature(ms: number): Signature {
  return `sleep of ${ms} ms`;
}

/** Waited for a message. */
export function receiveSignature({ name, names, of }: Awaited): Signature {
  if (of !== undefined) return `select ${canonical(of)}`;
  return names === undefined ? `receive ${name}` : `receive ${canonical(names)}`;
}

/** Asked for the unread messages. */
export function unreadSignature(name: string): Signature {
  return `received ${name}`;
}

/** Registered a step that runs when the turn does not succeed. */
export const CLEANUP: Signature = "cleanup";

/** Started parallel branches. */
export function allSignature(branches: number): Signature {
  return `${branches} parallel branches`;
}

/** Published a file. */
export function artifactSignature(name: string, mimeType: string): Signature {
  return `artifact ${JSON.stringify(name)} (${mimeType})`;
}

/** Took the new path of a change. */
export function patchSignature(id: string): Signature {
  return `${PATCH}${id}`;
}

/** Whether a step is only the mark of a patch. */
export function isPatch(signature: Signature): boolean {
  return signature.startsWith(PATCH);
}

const PATCH = "patch ";
