"use client";
import { createElement as h, useState } from "react";
import type { ReactNode } from "react";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { messageOf } from "../../errors.ts";
import type { WaitView } from "../../view/run-view.ts";

/** A question and what answers it: `answer` of a conversation or of a listed wait. */
export interface AnswerFormProps {
  readonly wait: Pick<WaitView, "waitId" | "questions" | "schema" | "question">;
  readonly answer: (values: JsonObject, waitId?: number) => Promise<void>;
}

/** A form for the answer to a question, made from its schema. It keeps what was typed when the server refuses it. */
export function AnswerForm({ wait, answer }: AnswerFormProps): ReactNode {
  const { submit, error, isSending } = useAnswer(answer, wait.waitId);
  const fields = toFields(wait);
  const [texts, setTexts] = useState<Readonly<Record<string, string | boolean>>>({});
  const send = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    submit(() => Object.fromEntries(fields.flatMap((field) => toEntry(field, texts[field.key]))));
  };
  if (wait.question !== undefined) return h("p", { className: "troupe-question" }, wait.question);
  return h(
    "form",
    { className: "troupe-question", onSubmit: send },
    fields.map((field) =>
      h(
        "label",
        { key: field.key },
        h("span", null, field.label),
        toControl(field, texts[field.key], (value) => setTexts({ ...texts, [field.key]: value })),
      ),
    ),
    error !== undefined && h("p", { role: "alert" }, error),
    h("button", { type: "submit", disabled: isSending }, "Answer"),
  );
}

/** A question with one boolean as two buttons; any other question as its form. */
export function ApprovalButtons(props: AnswerFormProps): ReactNode {
  const { wait, answer } = props;
  const { submit, error, isSending } = useAnswer(answer, wait.waitId);
  const [field, ...others] = toFields(wait);
  if (wait.question !== undefined || field?.type !== "boolean" || others.length > 0)
    return h(AnswerForm, props);
  const button = (label: string, value: boolean): ReactNode =>
    h(
      "button",
      { type: "button", disabled: isSending, onClick: () => submit(() => ({ [field.key]: value })) },
      label,
    );
  return h(
    "div",
    { className: "troupe-approval", role: "group", "aria-label": field.label },
    h("p", null, field.label),
    button("Yes", true),
    button("No", false),
    error !== undefined && h("p", { role: "alert" }, error),
  );
}

/** Sends an answer once at a time, and keeps why it was refused. */
function useAnswer(
  answer: AnswerFormProps["answer"],
  waitId: number,
): {
  submit(values: () => JsonObject): void;
  readonly error: string | undefined;
  readonly isSending: boolean;
} {
  const [state, setState] = useState<{ readonly error?: string; readonly isSending: boolean }>({
    isSending: false,
  });
  const send = async (values: () => JsonObject): Promise<void> => {
    setState({ isSending: true });
    try {
      await answer(values(), waitId);
      setState({ isSending: false });
    } catch (thrown) {
      setState({ isSending: false, error: messageOf(thrown) });
    }
  };
  return { submit: (values) => void send(values), error: state.error, isSending: state.isSending };
}

/** A value that a question asks for. What no field fits is written as JSON. */
interface Field {
  readonly key: string;
  readonly label: string;
  readonly type: "string" | "number" | "boolean" | "choice" | "json";
  readonly choices: readonly Json[];
  readonly isRequired: boolean;
}

function toFields({ questions, schema }: AnswerFormProps["wait"]): readonly Field[] {
  const { properties, required } = schema ?? {};
  const shapes = isObject(properties)
    ? properties
    : Object.fromEntries(Object.keys(questions).map((key) => [key, {}]));
  return Object.entries(shapes).map(([key, given]) => {
    const shape = isObject(given) ? given : {};
    const { type, description } = shape;
    const choices = Array.isArray(shape["enum"]) ? (shape["enum"] as readonly Json[]) : [];
    return {
      key,
      label: questions[key] ?? (typeof description === "string" ? description : key),
      type: choices.length > 0 ? "choice" : toType(type),
      choices,
      isRequired: !Array.isArray(required) || required.includes(key),
    };
  });
}

function toType(type: unknown): Field["type"] {
  if (type === "integer") return "number";
  return type === "string" || type === "number" || type === "boolean" ? type : "json";
}

function toControl(
  { type, choices, isRequired }: Field,
  value: string | boolean | undefined,
  change: (value: string | boolean) => void,
): ReactNode {
  // Without the types of a browser an element has no fields.
  const onChange = ({ target }: { readonly target: unknown }): void => {
    const { value: text, checked } = target as { readonly value: string; readonly checked: boolean };
    change(type === "boolean" ? checked : text);
  };
  if (type === "boolean") return h("input", { type: "checkbox", checked: value === true, onChange });
  const common = { value: typeof value === "string" ? value : "", required: isRequired, onChange };
  if (type === "json") return h("textarea", common);
  if (type !== "choice")
    return h("input", { ...common, type: type === "number" ? "number" : "text", step: "any" });
  const options = choices.map((choice, index) => h("option", { key: index, value: index }, toText(choice)));
  return h("select", common, h("option", { value: "" }), options);
}

/** The entry of a field in the answer; none if it may be left out and is empty. */
function toEntry({ key, type, choices, isRequired }: Field, value: string | boolean = ""): [string, Json][] {
  if (type === "boolean") return [[key, value === true]];
  const text = String(value);
  if (text === "" && !isRequired) return [];
  if (type === "number") return [[key, Number(text)]];
  if (type === "choice") return [[key, choices[Number(text)] ?? null]];
  return [[key, type === "string" ? text : fromText(text)]];
}

/** JSON, or else the text itself. */
function fromText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
