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
  const phase = useRef<"idle" | "reading" | "outdated">("idle");
  useEffect(() => {
    const stop = new AbortController();
    const end = (change: () => void): void => {
      if (stop.signal.aborted) return;
      change();
      if (phase.current === "outdated") setTurn((before) => before + 1);
      phase.current = "idle";
    };
    phase.current = "reading";
    newest.current(stop.signal).then(
      (value) => end(() => setState({ value })),
      (thrown: unknown) => end(() => setState((before) => ({ ...before, error: toAgentError(thrown) }))),
    );
    return () => stop.abort();
  }, [key, turn]);
  const reload = useCallback(() => {
    if (phase.current === "idle") setTurn((before) => before + 1);
    else phase.current = "outdated";
  }, []);
  return { ...state, reload };
}
