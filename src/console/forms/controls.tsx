import type { VNode } from "preact";
import type { FormShape } from "./shape.ts";
import { isKind } from "./draft.ts";
import type { Draft, Fault } from "./draft.ts";

export interface FieldProps {
  readonly schema: unknown;
  readonly root: unknown;
  /** The path of the field; empty for the form itself. */
  readonly path: string;
  /** What the field is called, if not as in its schema. */
  readonly label?: string | undefined;
  readonly draft: Draft;
  readonly isRequired: boolean;
  readonly faults: readonly Fault[];
  readonly isDisabled: boolean;
  readonly onDraft: (draft: Draft) => void;
}

/** What draws the control of a field. */
export interface ControlProps extends FieldProps {
  readonly shape: FormShape;
  readonly id: string;
  readonly isFaulty: boolean;
}

/** The props of a control for one kind of shape. */
export type Of<Kind extends FormShape["kind"]> = ControlProps & {
  readonly shape: Extract<FormShape, { readonly kind: Kind }>;
};

/** An enum with more values than this is a list to choose from. */
export const RADIOS = 6;

/** A control without fields of its own. */
export function SimpleControl(
  props: Of<"text" | "number" | "boolean" | "choice" | "null" | "any" | "json">,
): VNode {
  const { shape, id, draft, onDraft, isDisabled, isFaulty } = props;
  const text = typeof draft === "string" ? draft : "";
  const common = {
    id,
    class: "input",
    disabled: isDisabled,
    "aria-invalid": isFaulty,
    ...(isFaulty && { "aria-describedby": `${id}-fault` }),
  };
  switch (shape.kind) {
    case "text":
      return shape.isLong || text.includes("\n") ? (
        <textarea
          {...common}
          rows={4}
          dir="auto"
          value={text}
          onInput={(event) => onDraft(event.currentTarget.value)}
        />
      ) : (
        <input {...common} dir="auto" value={text} onInput={(event) => onDraft(event.currentTarget.value)} />
      );
    case "number":
      return (
        <input
          {...common}
          inputMode={shape.isWhole ? "numeric" : "decimal"}
          value={text}
          onInput={(event) => onDraft(event.currentTarget.value)}
        />
      );
    case "boolean":
      return <YesNo {...props} />;
    case "choice":
      return <Choice {...props} shape={shape} />;
    case "null":
      return <span class="second">null</span>;
    case "any":
      return (
        <textarea
          {...common}
          rows={1}
          dir="auto"
          value={text}
          onInput={(event) => onDraft(event.currentTarget.value)}
        />
      );
    case "json":
      return (
        <>
          <textarea
            {...common}
            class="input mono"
            rows={5}
            placeholder="JSON"
            value={text}
            onInput={(event) => onDraft(event.currentTarget.value)}
          />
          <details>
            <summary class="second">its schema</summary>
            <pre class="code">{JSON.stringify(shape.schema, null, 2)}</pre>
          </details>
        </>
      );
    default: {
      const never: never = shape;
      return never;
    }
  }
}

function YesNo({ id, draft, onDraft, isDisabled }: ControlProps): VNode {
  const chosen = isKind(draft, "boolean") ? draft.value : undefined;
  return (
    <div class="choices">
      {([true, false] as const).map((value) => (
        <label class="choice" key={String(value)}>
          <input
            type="radio"
            name={id}
            disabled={isDisabled}
            checked={chosen === value}
            onChange={() => onDraft({ kind: "boolean", value })}
          />
          {value ? "Yes" : "No"}
        </label>
      ))}
    </div>
  );
}

function Choice({ id, shape, draft, onDraft, isDisabled, isRequired }: Of<"choice">): VNode {
  const chosen = isKind(draft, "choice") ? draft.at : -1;
  const names = shape.options.map((option) => (typeof option === "string" ? option : JSON.stringify(option)));
  if (names.length > RADIOS) {
    return (
      <select
        id={id}
        class="input"
        disabled={isDisabled}
        value={String(chosen)}
        onChange={(event) => {
          const at = Number(event.currentTarget.value);
          onDraft(at < 0 ? undefined : { kind: "choice", at });
        }}
      >
        <option value="-1">{isRequired ? "choose one" : "none"}</option>
        {names.map((name, at) => (
          <option key={name} value={at}>
            {name}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="choices">
      {names.map((name, at) => (
        <label class="choice" key={name} dir="auto">
          <input
            type="radio"
            name={id}
            disabled={isDisabled}
            checked={chosen === at}
            onChange={() => onDraft({ kind: "choice", at })}
          />
          {name}
        </label>
      ))}
    </div>
  );
}
