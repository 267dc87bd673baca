import { useCallback, useState } from "preact/hooks";
import { isObject } from "../../protocol/json.ts";
import { isSecretName } from "../../runtime/secrets/secret-names.ts";

/** What a draft is written for: a question, the next message to a run, or an operation of an agent. */
export type DraftKey = `question ${string}` | `run ${string}` | `agent ${string}`;

/** What a person is writing, its change, and its end: it was sent. */
export type KeptDraft<Value> = readonly [value: Value, set: (value: Value) => void, drop: () => void];

/**
 * What a person has written and not sent. It is kept for this tab, also when its place is left or the page is loaded again:
 * in no address, so that no link can fill a form. With `isKept` false it ends with the part that shows it.
 */
export function useDraft<Value>(key: DraftKey, empty: () => Value, isKept: boolean = true): KeptDraft<Value> {
  const [value, show] = useState<Value>(() => (keptDraft(key) as Value | undefined) ?? empty());
  const set = useCallback(
    (next: Value) => {
      show(next);
      if (isKept) keepDraft(key, next);
    },
    [key, isKept],
  );
  const drop = useCallback(() => keepDraft(key, undefined), [key]);
  return [value, set, drop];
}

/** Keeps what is to be found in a form when it is shown; `undefined` drops it. */
export function keepDraft(key: DraftKey, value: unknown): void {
  drafts.set(key, value);
  try {
    if (value === undefined) sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // There is no room for it: it is kept until the page is loaded again.
  }
}

function keptDraft(key: DraftKey): unknown {
  if (drafts.has(key)) return drafts.get(key);
  const kept = sessionStorage.getItem(PREFIX + key);
  return kept === null ? undefined : JSON.parse(kept);
}

/** Whether a schema asks for a secret, which is never kept. */
export function asksForSecret(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(asksForSecret);
  if (!isObject(schema)) return false;
  if (schema["format"] === "password" || schema["writeOnly"] === true) return true;
  const { properties } = schema;
  if (isObject(properties) && Object.keys(properties).some(isSecretName)) return true;
  return Object.values(schema).some(asksForSecret);
}

const drafts = new Map<DraftKey, unknown>();

const PREFIX = "troupe-draft ";
