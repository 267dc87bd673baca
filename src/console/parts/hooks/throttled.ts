import { useEffect, useRef, useState } from "preact/hooks";

/** A value that changes at most once in a time in milliseconds. The last value is always reached. */
export function useThrottled<Value>(value: Value, ms: number): Value {
  const [shown, setShown] = useState(value);
  const changedAt = useRef(0);
  useEffect(() => {
    const show = (): void => {
      changedAt.current = performance.now();
      setShown(value);
    };
    const leftMs = changedAt.current + ms - performance.now();
    if (leftMs <= 0) {
      show();
      return undefined;
    }
    const timer = setTimeout(show, leftMs);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown;
}
