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
 * Reads something when the part is shown, and again when `key` changes or `reload` is called. An answer that comes
 * after a newer question is dropped.
 */
export function useResource<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
): Resource<Value> {
  const [state, setState] = useState<{ readonly value?: Value; readonly error?: AgentError }>({});
  const [turn, setTurn] = useState(0);
  const newest = useRef(load);
  newest.current = load;
  useEffect(() => {
    const stop = new AbortController();
    newest.current(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setState({ value });
      },
      (thrown: unknown) => {
        if (!stop.signal.aborted) setState((before) => ({ ...before, error: toAgentError(thrown) }));
      },
    );
    return () => stop.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}
