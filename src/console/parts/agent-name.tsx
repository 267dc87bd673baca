import type { VNode } from "preact";

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
      {[...name][0]?.toUpperCase()}
    </span>
  );
}

/** The style that gives `--agent` the colour of an agent inside an element with the class `hued`. */
export function agentStyle(name: string): { readonly "--hue": string } {
  return { "--hue": String(hueOf(name)) };
}

/** The hue of an agent in degrees, from its name alone, so that it is the same for everybody. */
export function hueOf(name: string): number {
  let hash = 2_166_136_261;
  for (const letter of name) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619);
  return HUES[(hash >>> 8) % HUES.length] ?? 0;
}

/** Hues that people can tell apart; their contrast is the same, because OKLCH has one lightness for all hues. */
const HUES: readonly number[] = [25, 50, 80, 110, 140, 165, 195, 225, 250, 275, 300, 330, 355];
