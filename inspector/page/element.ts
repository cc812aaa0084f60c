/** Elements by name. Preact's own `h` types each element's props exactly, and then no two elements fit one list. */
import { h as create } from "preact";
import type { ComponentChildren, FunctionComponent, VNode } from "preact";

export type { ComponentChildren, VNode };

export type Props = Readonly<Record<string, unknown>>;

export const h = (tag: string, props: Props | null, children?: ComponentChildren): VNode =>
  create(tag, props, children);

/** A part of the page that has something of its own to remember. */
export const part = <Given extends object>(
  what: FunctionComponent<Given>,
  props: Given,
  key?: string | number,
): VNode => create(what, key === undefined ? props : { ...props, key }) as VNode;
