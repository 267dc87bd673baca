import type { VNode } from "preact";
import { useConsole } from "../app/context.ts";

interface CopyProps {
  readonly text: string;
  /** What the button says. */
  readonly label?: string;
  /** What is copied, for the sentence that says so. */
  readonly name: string;
}

/** A button that copies a text. */
export function Copy({ text, label = "copy", name }: CopyProps): VNode {
  const { say } = useConsole();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      say(`Copied ${name}.`);
    } catch {
      say("The browser does not let the page copy.");
    }
  };
  return (
    <button type="button" class="button quiet small" onClick={() => void copy()} title={`Copy ${name}`}>
      {label}
    </button>
  );
}

/** A command to copy. */
export function Command({ text }: { readonly text: string }): VNode {
  return (
    <div class="command">
      <code>{text}</code>
      <Copy text={text} name="the command" />
    </div>
  );
}
