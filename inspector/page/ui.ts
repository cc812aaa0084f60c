/** Small parts that several views use: buttons, fields, facts. */
import { h } from "./element.ts";
import type { ComponentChildren, Props, VNode } from "./element.ts";

export const button = (label: ComponentChildren, onClick: () => void, more: Props = {}): VNode =>
  h("button", { type: "button", onClick, ...more }, label);

export const select = (
  name: string,
  options: readonly (readonly [value: string, label: string])[],
  { value, onPick }: { readonly value: string; readonly onPick: (value: string) => void },
): VNode =>
  h(
    "select",
    {
      "aria-label": name,
      value,
      onChange: (event: Event) => onPick((event.currentTarget as HTMLSelectElement).value),
    },
    options.map(([each, label]) => h("option", { value: each, selected: each === value, key: each }, label)),
  );

export const searchField = (
  name: string,
  { value, hint, onType }: { readonly value: string; readonly hint: string; readonly onType: (text: string) => void },
): VNode =>
  h("input", {
    type: "search",
    "aria-label": name,
    placeholder: hint,
    value,
    onInput: (event: Event) => onType((event.currentTarget as HTMLInputElement).value),
  });

export const check = (label: string, isOn: boolean, onChange: (isOn: boolean) => void): VNode =>
  h("label", { class: "check" }, [
    h("input", {
      type: "checkbox",
      checked: isOn,
      onChange: (event: Event) => onChange((event.currentTarget as HTMLInputElement).checked),
    }),
    label,
  ]);

export const fact = (name: string, value: ComponentChildren): VNode[] => [h("dt", null, name), h("dd", null, value)];

/** `tone` is one of `lead`, `good`, `bad`, `quiet`. */
export const pill = (text: string, tone: string): VNode => h("span", { class: `pill ${tone}` }, text);
