/** The options of a report as fields, made from the catalogue: what it learns tomorrow is asked for tomorrow. */
import { Checkbox, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import type { ProblemError } from "@/shared/api/problem";
import { fieldError } from "@/shared/ui/ProblemWords";
import type { Option, Typed } from "./option_fields";
import { readable } from "./summary";
import { useTexts } from "./texts";

interface Props {
  options: readonly Option[];
  typed: Typed;
  onChange: (typed: Typed) => void;
  problem: ProblemError;
}

export function OptionFields({ options, typed, onChange, problem }: Props) {
  return options.map((option) => (
    <OptionField
      key={option.name}
      option={option}
      value={typed[option.name]}
      error={fieldError(problem, `options.${option.name}`)}
      onChange={(value) => onChange({ ...typed, [option.name]: value })}
    />
  ));
}

interface FieldProps {
  option: Option;
  value: string | boolean | undefined;
  error: ReactNode;
  onChange: (value: string | boolean) => void;
}

function OptionField({ option, value, error, onChange }: FieldProps) {
  const t = useTexts();
  const placeholder = option.default === null ? t("form.automatic") : JSON.stringify(option.default);
  const common = { label: readable(option.name), description: option.about, error };
  const text = typeof value === "string" ? value : "";
  if (option.is_list) {
    return (
      <Textarea
        {...common}
        placeholder={t("form.listHint")}
        autosize
        minRows={1}
        maxRows={6}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  if (option.kind === "boolean") {
    return (
      <Checkbox
        {...common}
        checked={value === undefined ? option.default === true : value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (option.kind === "choice") {
    return (
      <Select
        {...common}
        data={option.choices}
        placeholder={placeholder}
        clearable
        value={text || null}
        onChange={(chosen) => onChange(chosen ?? "")}
      />
    );
  }
  if (option.kind === "integer" || option.kind === "number") {
    return (
      <NumberInput
        {...common}
        placeholder={placeholder}
        min={option.low ?? undefined}
        max={option.high ?? undefined}
        allowDecimal={option.kind === "number"}
        value={text}
        onChange={(number) => onChange(String(number))}
      />
    );
  }
  return (
    <TextInput
      {...common}
      placeholder={placeholder}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
