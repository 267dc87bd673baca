import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";

interface PaneDividerProps {
  /** The element with both panes. */
  readonly panes: { readonly current: HTMLElement | null };
  /** The share of the first pane, in percent. */
  readonly share: number;
  onShare(share: number): void;
}

/** The line between two panes, which is dragged or moved with the arrow keys. */
export function PaneDivider({ panes, share, onShare }: PaneDividerProps): VNode {
  return (
    <div
      class="divider"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label="Width of the chat"
      aria-valuenow={share}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      onKeyDown={(event) => {
        const step = event.key === "ArrowLeft" ? -2 : event.key === "ArrowRight" ? 2 : 0;
        if (step === 0) return;
        event.preventDefault();
        onShare(share + step);
      }}
      onDblClick={() => onShare(USUAL)}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const box = panes.current?.getBoundingClientRect();
        if (box === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
        onShare(Math.round(((event.clientX - box.left) / box.width) * 100));
      }}
    />
  );
}

/** The share of the first pane, which this browser keeps. */
export function usePaneShare(): readonly [share: number, setShare: (share: number) => void] {
  const [share, show] = useState(() => toShare(Number(localStorage.getItem(NAME) ?? USUAL)));
  const setShare = useCallback((next: number) => {
    const kept = toShare(next);
    localStorage.setItem(NAME, String(kept));
    show(kept);
  }, []);
  return [share, setShare];
}

const NAME = "troupe-chat-share";
const USUAL = 42;
const LEAST = 25;
const MOST = 70;

function toShare(value: number): number {
  return Number.isFinite(value) ? Math.min(MOST, Math.max(LEAST, value)) : USUAL;
}
