import type { VNode } from "preact";
import { agentStyle } from "./agent-hue.ts";

/** The name of an agent with its mark: the same colour at every place. */
export function AgentName({
  name,
  isLink = false,
}: {
  readonly name: string;
  readonly isLink?: boolean;
}): VNode {
  const inside = (
    <>
      <AgentMark name={name} />
      <span class="one-line">{name}</span>
    </>
  );
  return isLink ? (
    <a class="agent-name" href={`#/agents/${encodeURIComponent(name)}`}>
      {inside}
    </a>
  ) : (
    <span class="agent-name">{inside}</span>
  );
}

/** The mark of an agent: its first letter on its colour. */
export function AgentMark({ name }: { readonly name: string }): VNode {
  return (
    <span class="agent-mark" style={agentStyle(name)} aria-hidden="true">
      {name.charAt(0).toUpperCase()}
    </span>
  );
}
