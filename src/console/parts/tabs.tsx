import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface TabsProps<Name extends string> {
  /** What the tabs are for. */
  readonly label: string;
  readonly tabs: readonly { readonly name: Name; readonly label: string }[];
  readonly selected: Name;
  onSelect(name: Name): void;
}

/** A row of tabs; the arrow keys move between them. */
export function Tabs<Name extends string>({ label, tabs, selected, onSelect }: TabsProps<Name>): VNode {
  const list = useRef<HTMLDivElement>(null);
  // Where there is no room for all tabs, the row scrolls.
  useEffect(() => {
    const tab = list.current?.querySelector("[aria-selected=true]");
    tab?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [selected]);
  const move = (step: number): void => {
    const at = tabs.findIndex(({ name }) => name === selected);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next.name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list}>
      {tabs.map(({ name, label: text }) => (
        <button
          key={name}
          type="button"
          class="tab"
          role="tab"
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
          onKeyDown={({ key }) => {
            if (key === "ArrowRight") move(1);
            if (key === "ArrowLeft") move(-1);
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
