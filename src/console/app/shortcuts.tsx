import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ConsolePlace } from "../places/place.ts";
import { lazy } from "../parts/lazy.tsx";
import { useConsole } from "./context.ts";

const KeysPart = lazy(async () => (await import("./keys.tsx")).Keys);
const PalettePart = lazy(async () => (await import("./palette.tsx")).Palette);

/** The keys that work at every place: `Ctrl K` goes anywhere, `/` searches, `?` shows all of them. */
export function Shortcuts(): VNode {
  const { go } = useConsole();
  const [shown, show] = useState<"palette" | "keys">();
  useEffect(() => {
    let isGoing = false;
    const onKey = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      if ((ctrlKey || metaKey) && key.toLowerCase() === "k") {
        event.preventDefault();
        show((before) => (before === "palette" ? undefined : "palette"));
        return;
      }
      const isWriting =
        target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
      if (isWriting || ctrlKey || metaKey || altKey) return;
      const name = isGoing ? GO_KEYS[key] : undefined;
      isGoing = key === "g";
      if (name !== undefined) go({ name, query: {} });
      else if (key === "?") show("keys");
      else if (key === "/") {
        const field = document.querySelector<HTMLElement>("[data-search], main [type=search]");
        if (field === null) show("palette");
        else field.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [go]);
  // A dialog tells that it is closed a moment later, when a key may have opened the other one.
  const close = (what: typeof shown): void => show((now) => (now === what ? undefined : now));
  if (shown === "palette") return <PalettePart onClose={() => close("palette")} />;
  return shown === "keys" ? <KeysPart onClose={() => close("keys")} /> : <></>;
}

const GO_KEYS: Readonly<Record<string, Exclude<ConsolePlace["name"], "run" | "compare" | "lost">>> = {
  o: "overview",
  r: "runs",
  a: "agents",
  c: "actors",
  i: "inbox",
  h: "health",
};
