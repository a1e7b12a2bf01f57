// Small parts that every page uses: headings, badges, buttons, messages.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError } from "../api.ts";
import { facts } from "../state/live.ts";
import { Icon, type IconName } from "./icon.tsx";
import { inWorkspace } from "./workspace-option.ts";

export type Tone = "ok" | "warn" | "bad" | "idle" | "accent";

export function Page(props: {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly back?: { readonly href: string; readonly label: string };
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title, lead, back, actions, children } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Portolan`;
    // A screen reader announces the new page.
    if (document.activeElement?.closest("nav") !== null) heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div class="page">
      {back && (
        <a class="back" href={back.href}>
          <Icon name="left" /> {back.label}
        </a>
      )}
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Badge({
  tone = "idle",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A state with a dot; the word says it too, so that colour is not needed. */
export function State({ tone, children }: { readonly tone: Tone; readonly children: string }): JSX.Element {
  return (
    <span class={`state ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {children}
    </span>
  );
}

export interface ButtonProps {
  readonly onClick: () => unknown;
  readonly icon?: IconName;
  readonly kind?: "primary" | "plain" | "danger" | "quiet";
  readonly disabled?: boolean;
  /** Text for a button that shows only its icon. */
  readonly label?: string;
  readonly children?: ComponentChildren;
}

export function Button(props: ButtonProps): JSX.Element {
  const { onClick, icon, kind = "plain", disabled, label, children } = props;
  return (
    <button
      type="button"
      class={`button ${kind}${children === undefined ? " icon-only" : ""}`}
      onClick={() => void onClick()}
      disabled={disabled}
      aria-label={label}
      title={label}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function CopyButton({
  text,
  label,
  children,
}: {
  readonly text: string | (() => string);
  readonly label?: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), 1_500);
  };
  return (
    <Button
      onClick={copy}
      icon={isCopied.value ? "check" : "copy"}
      kind="quiet"
      label={children === undefined ? (isCopied.value ? "Copied" : (label ?? "Copy")) : undefined}
    >
      {children === undefined ? undefined : isCopied.value ? "Copied" : children}
    </Button>
  );
}

/** A command or a text to copy. A command names the workspace, so that it works in every folder. */
export function Command({ text }: { readonly text: string }): JSX.Element {
  const whole = inWorkspace(text, facts.value?.path);
  return (
    <div class="command">
      <code>{whole}</code>
      <CopyButton text={whole} label={`Copy: ${whole}`} />
    </div>
  );
}

export function Message({
  tone,
  title,
  children,
}: {
  readonly tone: Tone;
  readonly title?: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`message ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      {title && <strong>{title}</strong>}
      {children}
    </div>
  );
}

export function ErrorMessage({ error }: { readonly error: unknown }): JSX.Element {
  const message = error instanceof Error ? error.message : String(error);
  const { code, hint } = error instanceof ApiError ? error : { code: undefined, hint: undefined };
  return (
    <Message tone="bad" title={message}>
      {hint && <p>{hint}</p>}
      {code && <p class="muted small">{code}</p>}
    </Message>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Loading(): JSX.Element {
  return (
    <p class="loading muted" role="status">
      Loading …
    </p>
  );
}

export function SearchBox(props: {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly label: string;
}): JSX.Element {
  return (
    <label class="search">
      <span class="hidden-label">{props.label}</span>
      <Icon name="search" />
      <input
        type="search"
        value={props.value}
        placeholder={props.label}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** A row of choices of which one is on. */
export function Tabs<T extends string>(props: {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="tabs" role="group" aria-label={props.label}>
      {props.options.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

export function Facts(props: {
  readonly items: readonly (readonly [string, ComponentChildren])[];
  /** One below the other, for long values. */
  readonly wide?: boolean;
}): JSX.Element {
  return (
    <dl class={props.wide === true ? "facts wide" : "facts"}>
      {props.items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
