import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { MarkdownBlocks } from "./markdown-blocks.tsx";

/** A text of an agent. It is shown as it is until the reader of markdown is loaded, and if it is very long. */
export function Markdown({ text }: { readonly text: string }): VNode {
  const [Blocks, setBlocks] = useState<{ readonly draw: typeof MarkdownBlocks } | undefined>(loaded);
  const isLong = text.length > LONG;
  useEffect(() => {
    if (Blocks !== undefined || isLong) return;
    void load().then(setBlocks, () => undefined);
  }, [Blocks, isLong]);
  if (Blocks === undefined || isLong) return <p class="plain">{text}</p>;
  const { draw: Draw } = Blocks;
  return <Draw text={text} />;
}

const LONG = 8_192;

let loaded: { readonly draw: typeof MarkdownBlocks } | undefined;

async function load(): Promise<{ readonly draw: typeof MarkdownBlocks }> {
  const { MarkdownBlocks: draw } = await import("./markdown-blocks.tsx");
  loaded = { draw };
  return loaded;
}
