// Form for a JSON Schema: one input for each property, or the whole value as JSON.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Json, JsonMap, Schema } from "../types.ts";
import { Button } from "../ui/parts.tsx";
import { fieldOf, isMap, type Option, simplified } from "./schema.ts";

interface FormProps {
  readonly schema: Schema;
  readonly value: JsonMap;
  readonly onChange: (value: JsonMap) => void;
  readonly problems: ReadonlyMap<string, string>;
  readonly path?: string;
}

export function SchemaForm({ schema, value, onChange, problems, path = "" }: FormProps): JSX.Element {
  const set = (name: string, next: Json | undefined): void => {
    const { [name]: _old, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <div class="form">
      {Object.entries(schema.properties ?? {}).map(([name, property]) => {
        const at = path === "" ? name : `${path}.${name}`;
        return (
          <FieldRow
            key={at}
            name={name}
            path={at}
            schema={simplified(property)}
            isRequired={schema.required?.includes(name) === true}
            value={value[name]}
            problems={problems}
            onChange={(next) => set(name, next)}
          />
        );
      })}
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly value: Json | undefined;
  readonly problems: ReadonlyMap<string, string>;
  readonly onChange: (value: Json | undefined) => void;
}

function FieldRow(props: FieldProps): JSX.Element {
  const { name, path, schema, isRequired, value, problems, onChange } = props;
  const id = useId();
  const field = fieldOf(schema, name, path.split(".").length - 1);
  const problem = problems.get(path);
  const help = schema.description;
  const about = [help && `${id}-help`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const label = (
    <>
      {schema.title ?? name}
      {isRequired ? (
        <span class="required"> required</span>
      ) : (
        <span class="type"> {[schema.type ?? ""].flat().join(" or ")}</span>
      )}
    </>
  );
  const notes = (
    <>
      {help && (
        <p class="help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
  if (field.kind === "object")
    return (
      <fieldset class="field">
        <legend>{label}</legend>
        {notes}
        <SchemaForm
          schema={schema}
          value={isMap(value) ? value : {}}
          onChange={onChange}
          problems={problems}
          path={path}
        />
      </fieldset>
    );
  if (field.kind === "choices" || field.kind === "list")
    return (
      <fieldset class="field">
        <legend>{label}</legend>
        {notes}
        {field.kind === "choices" ? (
          <Choices options={field.options} value={value} onChange={onChange} />
        ) : (
          <List items={field.items} name={name} value={value} onChange={onChange} />
        )}
      </fieldset>
    );
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Input
        id={id}
        schema={schema}
        name={name}
        depth={path.split(".").length - 1}
        value={value}
        isRequired={isRequired}
        isWrong={problem !== undefined}
        about={about}
        onChange={onChange}
      />
      {notes}
    </div>
  );
}

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

function Input(props: InputProps): JSX.Element {
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

function Choices({
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

function List({
  items,
  name,
  value,
  onChange,
}: {
  readonly items: Schema;
  readonly name: string;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}): JSX.Element {
  const id = useId();
  const entries = Array.isArray(value) ? value : [];
  const field = fieldOf(items, name, 1);
  const blank = (): Json =>
    field.kind === "number" ? 0 : field.kind === "boolean" ? false : field.kind === "object" ? {} : "";
  const replace = (index: number, next: Json | undefined): void =>
    onChange(entries.map((entry, at) => (at === index ? (next ?? blank()) : entry)));
  return (
    <div class="list-input">
      {entries.map((entry, index) => (
        <div key={index} class="list-entry">
          {field.kind === "object" ? (
            <SchemaForm
              schema={items}
              value={isMap(entry) ? entry : {}}
              onChange={(next) => replace(index, next)}
              problems={new Map()}
              path={`${name}.${index}`}
            />
          ) : (
            <Input
              id={`${id}-${index}`}
              schema={items}
              name={name}
              depth={1}
              value={entry}
              isRequired
              label={`${name} ${index + 1}`}
              onChange={(next) => replace(index, next)}
            />
          )}
          <Button
            icon="minus"
            kind="quiet"
            label={`Remove ${name} ${index + 1}`}
            onClick={() =>
              onChange(entries.length === 1 ? undefined : entries.filter((_, at) => at !== index))
            }
          />
        </div>
      ))}
      <Button icon="plus" kind="quiet" onClick={() => onChange([...entries, blank()])}>
        Add
      </Button>
    </div>
  );
}
