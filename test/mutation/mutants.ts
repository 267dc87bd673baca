import { parseAst } from "rolldown/parseAst";

/** A small change of a source file. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The changed part, from one offset to another, as it is. */
  readonly start: number;
  readonly end: number;
  readonly code: string;
  /** What stands there instead. */
  readonly instead: string;
}

/** All mutants of a source file, in the order of the text. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const mutants: Mutant[] = [];
  const add = ({ start, end }: Span, instead: string): void => {
    const line = source.slice(0, start).split("\n").length;
    mutants.push({ file, line, start, end, code: source.slice(start, end), instead });
  };
  visit(parseAst(source, { lang: "ts" }) as unknown as Node, (node) => change(node, source, add));
  return mutants.toSorted((a, b) => a.start - b.start);
}

/** The source with a mutant in it. */
export function withMutant(source: string, { start, end, instead }: Mutant): string {
  return `${source.slice(0, start)}${instead}${source.slice(end)}`;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** A node of the syntax tree, with the fields that are read here. */
interface Node extends Span {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What an operator becomes. */
const OPERATORS: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "&&": "||",
  "||": "&&",
};

/** What the name of a function becomes. */
const FUNCTIONS: Readonly<Record<string, string>> = { min: "max", max: "min", some: "every", every: "some" };

function change(node: Node, source: string, add: (span: Span, instead: string) => void): void {
  const text = ({ start, end }: Span): string => source.slice(start, end);
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const { left, right, operator } = node as Node & Record<"left" | "right", Node> & { operator: string };
      if (operator === "??") add(node, text(left));
      const other = OPERATORS[operator];
      if (other === undefined || [left, right].some(({ type }) => type === "TemplateLiteral")) return;
      add(node, `${text(left)} ${other} ${text(right)}`);
      return;
    }
    case "IfStatement": {
      const { test } = node as Node & { readonly test: Node };
      add(test, "true");
      add(test, "false");
      return;
    }
    case "ConditionalExpression": {
      const { consequent, alternate } = node as Node & Record<"consequent" | "alternate", Node>;
      add(node, text(consequent));
      add(node, text(alternate));
      return;
    }
    case "ExpressionStatement": {
      const { expression } = node as Node & { readonly expression: Node };
      if (EFFECTS.has(expression.type)) add(node, ";");
      return;
    }
    case "Literal":
      if (typeof node["value"] === "boolean") add(node, String(!node["value"]));
      if (typeof node["value"] === "number") add(node, `(${text(node)} + 1)`);
      return;
    case "UnaryExpression": {
      const { argument } = node as Node & { readonly argument: Node };
      if (node["operator"] === "!") add(node, text(argument));
      return;
    }
    case "MemberExpression": {
      const { property } = node as Node & { readonly property: Node };
      const other = FUNCTIONS[text(property)];
      if (other !== undefined) add(property, other);
      return;
    }
    default:
  }
}

/** The statements without which something does not happen. */
const EFFECTS: ReadonlySet<string> = new Set([
  "AssignmentExpression",
  "AwaitExpression",
  "CallExpression",
  "UpdateExpression",
  "UnaryExpression",
]);

/** Visits the code of a tree, without its types, and without what is only said to operators. */
function visit(node: Node, see: (node: Node) => void): void {
  if (node.type.startsWith("TS") && !AS_VALUES.has(node.type)) return;
  if (node.type === "NewExpression" && nameOf(node["callee"]).endsWith("Error")) return;
  if (node.type === "CallExpression" && /\b(fault|dropped|failed)$/.test(nameOf(node["callee"]))) return;
  see(node);
  for (const field of Object.values(node)) {
    for (const child of Array.isArray(field) ? (field as unknown[]) : [field])
      if (typeof (child as Node | null)?.type === "string") visit(child as Node, see);
  }
}

const AS_VALUES: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
]);

function nameOf(callee: unknown): string {
  const { name, property } = callee as { readonly name?: string; readonly property?: Node };
  return name ?? (property === undefined ? "" : nameOf(property));
}
