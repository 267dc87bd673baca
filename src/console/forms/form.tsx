import type { VNode } from "preact";
import { useId } from "preact/hooks";
import { ActButton } from "../parts/act-button.tsx";
import { RADIOS, SimpleControl } from "./controls.tsx";
import type { ControlProps, FieldProps, Of } from "./controls.tsx";
import { emptyDraft, isKind } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { resolve, toLimits, toShape } from "./shape.ts";

/** A field of a form with its label, its limits and its faults. */
export function FormField(props: FieldProps): VNode {
  const { schema, root, path, draft, isRequired, faults } = props;
  const id = useId();
  const shape = toShape(schema, root);
  const { description } = resolve(schema, root) ?? {};
  const label = props.label ?? labelOf(schema, root, path);
  const own = faults.filter((fault) => fault.path === path);
  const hint = typeof description === "string" && description !== label ? description : "";
  const limits = toLimits(schema, root);
  const isGroup = ["object", "list", "variants"].includes(shape.kind);
  const texts = (
    <>
      {limits !== "" && <span class="hint">{limits}</span>}
      {!isRequired && <span class="hint">optional</span>}
    </>
  );
  const below = (
    <>
      {hint !== "" && (
        <p class="hint" dir="auto">
          {hint}
        </p>
      )}
      {own.map(({ message }) => (
        <p key={message} class="fault" role="alert" id={`${id}-fault`}>
          {message}
        </p>
      ))}
    </>
  );
  if (isGroup || shape.kind === "boolean" || (shape.kind === "choice" && shape.options.length <= RADIOS)) {
    return (
      <fieldset class={isGroup && path !== "" ? "field group" : "field"}>
        {label !== "" && (
          <legend dir="auto">
            {label}
            {texts}
          </legend>
        )}
        {below}
        {draft === undefined && shape.kind === "object" ? (
          <AddPart {...props} />
        ) : (
          <Control {...props} shape={shape} id={id} isFaulty={own.length > 0} />
        )}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label for={id} dir="auto">
        {label === "" ? "value" : label}
        {texts}
      </label>
      <Control {...props} shape={shape} id={id} isFaulty={own.length > 0} />
      {below}
    </div>
  );
}

function Control({ shape, ...props }: ControlProps): VNode {
  switch (shape.kind) {
    case "object":
      return <Parts {...props} shape={shape} />;
    case "list":
      return <List {...props} shape={shape} />;
    case "variants":
      return <Variants {...props} shape={shape} />;
    default:
      return <SimpleControl {...props} shape={shape} />;
  }
}

/** The fields of an object. */
function Parts({ shape, root, path, draft, faults, isDisabled, isRequired, onDraft }: Of<"object">): VNode {
  const fields = isKind(draft, "object") ? draft.fields : {};
  return (
    <div class="form">
      {shape.fields.length === 0 && <span class="second">nothing to fill in</span>}
      {shape.fields.map((field) => (
        <FormField
          key={field.key}
          schema={field.schema}
          root={root}
          path={path === "" ? field.key : `${path}.${field.key}`}
          draft={fields[field.key]}
          isRequired={field.isRequired}
          faults={faults}
          isDisabled={isDisabled}
          onDraft={(next) => onDraft({ kind: "object", fields: { ...fields, [field.key]: next } })}
        />
      ))}
      {!isRequired && path !== "" && (
        <RemoveButton isDisabled={isDisabled} onRemove={() => onDraft(undefined)} />
      )}
    </div>
  );
}

/** Adds the fields of an optional object, which may refer to itself and so is not drawn at first. */
function AddPart({ schema, root, isDisabled, onDraft }: FieldProps): VNode {
  const add = (): void => {
    const made = emptyDraft(schema, root);
    onDraft(made ?? { kind: "object", fields: {} });
  };
  return (
    <button type="button" class="button small" disabled={isDisabled} onClick={add}>
      Add
    </button>
  );
}

function List({ shape, root, path, draft, faults, isDisabled, onDraft }: Of<"list">): VNode {
  const items = isKind(draft, "list") ? draft.items : [];
  const set = (next: readonly Draft[]): void => onDraft({ kind: "list", items: next });
  return (
    <div class="form">
      {items.map((item, at) => (
        <div class="list-item" key={at}>
          <FormField
            schema={shape.item}
            root={root}
            path={path === "" ? String(at) : `${path}.${at}`}
            label={String(at + 1)}
            draft={item}
            isRequired
            faults={faults}
            isDisabled={isDisabled}
            onDraft={(next) => set(items.with(at, next))}
          />
          <RemoveButton
            key={items.length}
            isDisabled={isDisabled}
            onRemove={() => set(items.toSpliced(at, 1))}
          />
        </div>
      ))}
      <div>
        <button
          type="button"
          class="button small"
          disabled={isDisabled}
          onClick={() => set([...items, emptyDraft(shape.item, root)])}
        >
          Add
        </button>
      </div>
    </div>
  );
}

function Variants({ shape, id, root, path, draft, faults, isDisabled, onDraft }: Of<"variants">): VNode {
  const chosen = isKind(draft, "variant") ? draft : undefined;
  const option = chosen && shape.options[chosen.at];
  return (
    <div class="form">
      <div class="choices">
        {shape.options.map(({ label, schema }, at) => (
          <label class="choice" key={at}>
            <input
              type="radio"
              name={id}
              disabled={isDisabled}
              checked={chosen?.at === at}
              onChange={() => onDraft({ kind: "variant", at, draft: emptyDraft(schema, root) })}
            />
            {label}
          </label>
        ))}
      </div>
      {chosen && option && toShape(option.schema, root).kind !== "null" && (
        <FormField
          key={chosen.at}
          schema={option.schema}
          root={root}
          path={path}
          label={option.label}
          draft={chosen.draft}
          isRequired
          faults={faults}
          isDisabled={isDisabled}
          onDraft={(next) => onDraft({ ...chosen, draft: next })}
        />
      )}
    </div>
  );
}

function RemoveButton({
  isDisabled,
  onRemove,
}: {
  readonly isDisabled: boolean;
  readonly onRemove: () => void;
}): VNode {
  return (
    <div>
      <ActButton class="button quiet small" disabled={isDisabled} onAct={onRemove}>
        Remove
      </ActButton>
    </div>
  );
}

/** The label of a field: its title, else the last part of its path. */
function labelOf(schema: unknown, root: unknown, path: string): string {
  const { title } = resolve(schema, root) ?? {};
  return typeof title === "string" && title !== "" ? title : (path.split(".").at(-1) ?? "");
}
