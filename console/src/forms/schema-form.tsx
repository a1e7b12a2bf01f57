// Form for a JSON Schema: a row for each property, with objects and lists inside.

import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Json, JsonMap, Schema } from "../types.ts";
import { Button } from "../ui/parts.tsx";
import { Choices, Input } from "./inputs.tsx";
import { fieldOf, isMap, simplified } from "./schema.ts";

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
