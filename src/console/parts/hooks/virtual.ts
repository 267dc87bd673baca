import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The part of a long list that is in sight. */
export interface Visible {
  /** For the element that scrolls. */
  readonly ref: { current: HTMLDivElement | null };
  /** The first row to draw, and the one after the last. */
  readonly start: number;
  readonly end: number;
  /** The height of all rows in pixels, scaled to what browsers can scroll. */
  readonly height: number;
  /** Where the first drawn row is, in pixels. */
  readonly top: number;
  /** How far the element is scrolled, in pixels. */
  readonly scrolled: number;
  /** Scrolls until a row is in sight. */
  scrollTo(row: number): void;
}

/** Draws of a list with rows of one height only what is in sight. With `followsEnd`, new rows stay in sight. */
export function useVisible(count: number, rowPx: number, followsEnd: boolean = false): Visible {
  const ref = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  const isAtEnd = useRef(followsEnd);
  const full = count * rowPx;
  const height = Math.min(full, HEIGHT_PX);

  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const read = (): void => {
      const { scrollTop, clientHeight, scrollHeight } = element;
      isAtEnd.current = scrollHeight - scrollTop - clientHeight < rowPx * 2;
      setScroll((before) =>
        before.top === scrollTop && before.height === clientHeight
          ? before
          : { top: scrollTop, height: clientHeight },
      );
    };
    read();
    element.addEventListener("scroll", read, { passive: true });
    const resized = new ResizeObserver(read);
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", read);
      resized.disconnect();
    };
  }, [rowPx]);

  useLayoutEffect(() => {
    const element = ref.current;
    if (element !== null && followsEnd && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [count, followsEnd]);

  // A list that is higher than browsers can scroll is scrolled in larger steps.
  const hidden = Math.max(height - scroll.height, 1);
  const scale = full > height ? (full - scroll.height) / hidden : 1;
  const first = Math.floor((scroll.top * scale) / rowPx);
  const start = Math.max(0, Math.min(first - MARGIN, count));
  const end = Math.min(count, first + Math.ceil(scroll.height / rowPx) + MARGIN);
  return {
    ref,
    start,
    end,
    height,
    scrolled: scroll.top,
    top: scale === 1 ? start * rowPx : scroll.top - (first - start) * rowPx,
    scrollTo(row) {
      const element = ref.current;
      if (element === null) return;
      const at = (row * rowPx) / scale;
      if (at < element.scrollTop) element.scrollTop = at;
      const below = (row + 1) * rowPx - element.clientHeight * 1;
      if (below / scale > element.scrollTop) element.scrollTop = below / scale;
    },
  };
}

/** Browsers cap the height of an element at about 33 million pixels, some at half of it. */
const HEIGHT_PX = 14_000_000;

const MARGIN = 8;
