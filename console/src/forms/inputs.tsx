// Inputs of a form: one for each kind of a value that is no object and no list.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Json, Schema } from "../types.ts";
import { fieldOf, type Option } from "./schema.ts";

interface InputProps {
  readonly id: string;
  readonly schema: Schema;
  readonly name: string;
  readonly depth?: number;
  readonly value: Json | undefined;
  readonly isRequired: boolean;
  readonly isWrong?: boolean;
  readonly about?: string;
  readonly label?: string;
  readonly onChange: (value: Json | undefined) => void;
}

export function Input(props: InputProps): JSX.Element {
  const { id, schema, name, depth = 0, value, isRequired, isWrong, about, label, onChange } = props;
  const field = fieldOf(schema, name, depth);
  const common = {
    id,
    "aria-invalid": isWrong ? ("true" as const) : undefined,
    "aria-describedby": about,
    "aria-label": label,
    "aria-required": isRequired || undefined,
  };
  switch (field.kind) {
    case "choice":
      return (
        <Choice
          common={common}
          options={field.options}
          value={value}
          isRequired={isRequired}
          onChange={onChange}
        />
      );
    case "boolean":
      return (
        <Choice
          common={common}
          options={[
            { value: true, label: "true" },
            { value: false, label: "false" },
          ]}
          value={value}
          isRequired={isRequired}
          onChange={onChange}
        />
      );
    case "number":
      return (
        <NumberInput
          common={common}
          schema={schema}
          isInteger={field.isInteger}
          value={value}
          onChange={onChange}
        />
      );
    case "file":
      return <FileInput common={common} value={value} onChange={onChange} />;
    case "text": {
      const text = typeof value === "string" ? value : "";
      const changed = (next: string): void => onChange(next === "" && !isRequired ? undefined : next);
      if (field.input === "textarea")
        return (
          <textarea
            {...common}
            rows={text.split("\n").length > 3 ? 8 : 2}
            value={text}
            onInput={(event) => changed(event.currentTarget.value)}
          />
        );
      const isTime = field.input === "datetime-local";
      return (
        <input
          {...common}
          {...{ type: field.input as "text" }}
          value={isTime ? text.slice(0, 16) : text}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            const { value: next } = event.currentTarget;
            changed(isTime && next !== "" ? new Date(next).toISOString() : next);
          }}
        />
      );
    }
    default:
      return <JsonInput common={common} value={value} onChange={onChange} />;
  }
}

type Common = Readonly<Record<string, unknown>> & { readonly id: string };

function Choice(props: {
  readonly common: Common;
  readonly options: readonly Option[];
  readonly value: Json | undefined;
  readonly isRequired: boolean;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const { common, options, value, isRequired, onChange } = props;
  const index = options.findIndex((option) => option.value === value);
  return (
    <select
      {...common}
      value={String(index)}
      onChange={(event) => onChange(options[Number(event.currentTarget.value)]?.value)}
    >
      <option value="-1">{isRequired ? "Choose …" : "not set"}</option>
      {options.map(({ label }, at) => (
        <option key={label} value={String(at)}>
          {label}
        </option>
      ))}
    </select>
  );
}

function NumberInput(props: {
  readonly common: Common;
  readonly schema: Schema;
  readonly isInteger: boolean;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const { common, schema, isInteger, value, onChange } = props;
  return (
    <input
      {...common}
      type="number"
      step={isInteger ? 1 : "any"}
      min={schema.minimum}
      max={schema.maximum}
      value={typeof value === "number" ? String(value) : ""}
      onInput={(event) => {
        const { value: text } = event.currentTarget;
        onChange(text === "" || Number.isNaN(Number(text)) ? undefined : Number(text));
      }}
    />
  );
}

function FileInput({
  common,
  value,
  onChange,
}: {
  readonly common: Common;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return onChange(undefined);
    const bytes = new Uint8Array(await file.arrayBuffer());
    onChange(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")));
  };
  return (
    <>
      <input {...common} type="file" onChange={(event) => void read(event.currentTarget.files?.[0])} />
      {typeof value === "string" && <span class="muted small"> {value.length} characters of base64</span>}
    </>
  );
}

function JsonInput({
  common,
  value,
  onChange,
}: {
  readonly common: Common;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const text = useSignal(value === undefined ? "" : JSON.stringify(value, null, 2));
  const isBad = useSignal(false);
  return (
    <>
      <textarea
        {...common}
        class="code"
        rows={3}
        spellcheck={false}
        value={text.value}
        aria-invalid={isBad.value ? "true" : undefined}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          try {
            onChange(text.value.trim() === "" ? undefined : (JSON.parse(text.value) as Json));
            isBad.value = false;
          } catch {
            isBad.value = true;
          }
        }}
      />
      <p class={isBad.value ? "problem" : "help"}>{isBad.value ? "This is not JSON yet." : "JSON"}</p>
    </>
  );
}

export function Choices({
  options,
  value,
  onChange,
}: {
  readonly options: readonly Option[];
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const chosen = Array.isArray(value) ? value : [];
  return (
    <div class="choices">
      {options.map(({ value: own, label }) => (
        <label key={label}>
          <input
            type="checkbox"
            checked={chosen.includes(own)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...chosen, own] : chosen.filter((one) => one !== own))
            }
          />
          {label}
        </label>
      ))}
    </div>
  );
}
