import { canonical } from "../../protocol/canonical.ts";
import type { Json } from "../../protocol/json.ts";

/**
 * Signatures say in one line what a handler did: kind, name, arguments or text. On replay the line has to be
 * the same, and a person reads it where it is not.
 */
export type Signature = string;

/** Asked for the time. */
export const NOW: Signature = "now";

/** Asked for a random number. */
export const RANDOM: Signature = "random";

/** Said a text. */
function textSignature(content: string): Signature {
  return `text ${JSON.stringify(content)}`;
}

/** A signature as people read it. */
export function toReadable({
  signature,
  isText,
}: {
  readonly signature: Signature;
  readonly isText?: true | undefined;
}): string {
  return isText ? textSignature(signature) : signature;
}

/** Called an agent or did something outside. */
export function callSignature(functionName: string, args: Json): Signature {
  return `call ${functionName} ${canonical(args)}`;
}

/** Asked a model. What it was given is kept nowhere, and another one may go on with what it has answered. */
export const COMPLETION: Signature = "completion";

/** Asked the caller. */
export function waitSignature(questions: { readonly [key: string]: string }): Signature {
  return `wait for ${canonical(questions)}`;
}

/** Slept. */
export function sleepSignature(ms: number): Signature {
  return `sleep of ${ms} ms`;
}

/** Began parallel branches. */
export function allSignature(branches: number): Signature {
  return `${branches} parallel branches`;
}

/** Published a file. */
export function artifactSignature(name: string, mimeType: string): Signature {
  return `artifact ${JSON.stringify(name)} (${mimeType})`;
}
