import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";

/** What can be chosen: the value in the address, and what a person reads. */
export type Option = readonly [value: string, label: string];

/** A name that is also what a person reads. */
export function toOption(name: string): Option {
  return [name, name];
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  onChange(value: string): void;
}

interface ChoiceProps extends FilterProps {
  readonly options: readonly Option[];
}

/** A filter that has one of some values. */
export function Choice({ label, value, options, onChange }: ChoiceProps): VNode {
  return (
    <select
      class="input"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {options.map(([name, shown]) => (
        <option key={name} value={name}>
          {shown}
        </option>
      ))}
    </select>
  );
}

/** A filter by the name of an agent: one that is served, or the one in the address. */
export function AgentChoice({
  agents,
  ...filter
}: Omit<FilterProps, "label"> & { readonly agents: readonly string[] }): VNode {
  const { value } = filter;
  const names = value === "" || agents.includes(value) ? agents : [value, ...agents];
  return <Choice label="Agent" options={[["", "every agent"], ...names.map(toOption)]} {...filter} />;
}

interface TextFilterProps extends FilterProps {
  /** What is offered while one types. */
  readonly known?: readonly string[];
}

/** A filter by a text. */
export function TextFilter({ label, value, known = [], onChange }: TextFilterProps): VNode {
  const id = useId();
  /** What is typed and not applied yet: a list that changes draws the field again, and must not erase it. */
  const [typed, setTyped] = useState<string>();
  return (
    <>
      <input
        class="input narrow"
        aria-label={label}
        placeholder={label}
        list={known.length > 0 ? id : undefined}
        value={typed ?? value}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget }) => {
          setTyped(undefined);
          onChange(currentTarget.value.trim());
        }}
        onBlur={() => setTyped(undefined)}
      />
      {known.length > 0 && (
        <datalist id={id}>
          {known.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
      )}
    </>
  );
}
