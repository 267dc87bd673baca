import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { AgentError } from "../../errors.ts";

/** Something that is read from the server. */
export interface Resource<Value> {
  /** The newest value that was read; absent before the first. */
  readonly value?: Value;
  /** Why the last attempt to read it failed. */
  readonly error?: AgentError;
  /** Reads it again. */
  readonly reload: () => void;
}

/**
 * Reads something when the part is shown, and again when `key` changes or `reload` is called. An answer for an earlier key is
 * dropped. A `reload` while it is being read waits for the answer, so that frequent ones do not keep the value from
 * changing.
 */
export function useResource<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
): Resource<Value> {
  const [state, setState] = useState<{ readonly value?: Value; readonly error?: AgentError }>({});
  const [turn, setTurn] = useState(0);
  const newest = useRef(load);
  newest.current = load;
  /** Whether it is to be read again after the reading under way; absent while there is none. */
  const isDue = useRef<boolean | undefined>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    const end = (change: () => void): void => {
      if (stop.signal.aborted) return;
      change();
      if (isDue.current === true) setTurn((before) => before + 1);
      isDue.current = undefined;
    };
    isDue.current = false;
    newest.current(stop.signal).then(
      (value) => end(() => setState({ value })),
      (thrown: unknown) => end(() => setState((before) => ({ ...before, error: toAgentError(thrown) }))),
    );
    return () => stop.abort();
  }, [key, turn]);
  const reload = useCallback(() => {
    if (isDue.current === undefined) setTurn((before) => before + 1);
    else isDue.current = true;
  }, []);
  return { ...state, reload };
}
