/** Elements by name. Preact's own `h` types each element's props exactly, and then no two elements fit one list. */
import { h as create } from "preact";
import type { ComponentChildren, VNode } from "preact";

export type { ComponentChildren, VNode };

export const h = (tag: string, props: Readonly<Record<string, unknown>> | null, children?: ComponentChildren): VNode =>
  create(tag, props, children);
