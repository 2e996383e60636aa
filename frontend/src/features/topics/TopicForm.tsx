/** What can be said about a topic: of a new one everything, of an old one what changes. */
import {
  Checkbox,
  Collapse,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { AboutFields, aboutOf, type AboutText, NOTHING_SAID, saidOf } from "@/shared/about/AboutFields";
import { useGet } from "@/shared/api/queries";
import { useTexts } from "./texts";
import type { NewTopic } from "./topic";

export const MESSAGE_TYPES = ["UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED"] as const;
const MOST_QUEUES = 1024;
const TYPE = "message.type";
/** Fields side by side stay in line when one of them has more to say. */
const BELOW: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

export interface TopicFields extends AboutText {
  name: string;
  readQueues: number;
  writeQueues: number;
  isApart: boolean;
  perm: 2 | 4 | 6;
  /** Unspecified: nothing is said, which every broker understands. */
  type: (typeof MESSAGE_TYPES)[number];
  isOrdered: boolean;
  brokers: string[];
}

export const NEW_TOPIC: TopicFields = {
  ...NOTHING_SAID,
  name: "",
  readQueues: 8,
  writeQueues: 8,
  isApart: false,
  perm: 6,
  type: "UNSPECIFIED",
  isOrdered: false,
  brokers: [],
};

/** As the API wants it; what was left empty is not said. */
export function requestOf(fields: TopicFields): NewTopic {
  const { name, brokers } = fields;
  return {
    name: name.trim(),
    ...specOf(fields),
    ...(fields.type === "UNSPECIFIED" ? {} : { attributes: { [TYPE]: fields.type } }),
    ...(brokers.length > 0 ? { brokers } : {}),
    ...saidOf(fields),
  };
}

export function specOf(fields: TopicFields) {
  return {
    read_queues: fields.readQueues,
    write_queues: fields.isApart ? fields.writeQueues : fields.readQueues,
    perm: fields.perm,
    is_ordered: fields.isOrdered,
  };
}

export function isComplete(fields: TopicFields): boolean {
  return (
    fields.name.trim() !== "" && fields.readQueues >= 1 && fields.writeQueues >= 1 && aboutOf(fields) !== null
  );
}

interface Props {
  cluster: string;
  fields: TopicFields;
  onChange: (changes: Partial<TopicFields>) => void;
}

export function NewTopicForm({ cluster, fields, onChange }: Props) {
  const t = useTexts();
  return (
    <Stack gap="sm">
      <TextInput
        label={t("form.name")}
        description={t("form.nameHint")}
        value={fields.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        maxLength={127}
        required
        spellCheck={false}
        autoComplete="off"
        data-autofocus
      />
      <QueueFields fields={fields} onChange={onChange} />
      <Group grow align="flex-start">
        <PermField fields={fields} onChange={onChange} />
        <Select
          label={t("form.type")}
          description={t("form.typeHint")}
          inputWrapperOrder={BELOW}
          value={fields.type}
          onChange={(type) => onChange({ type: type as TopicFields["type"] })}
          data={MESSAGE_TYPES.map((value) => ({ value, label: t(`form.types.${value}`) }))}
        />
      </Group>
      <OrderedField fields={fields} onChange={onChange} />
      <BrokersField cluster={cluster} fields={fields} onChange={onChange} />
      <AboutFields about={fields} onChange={onChange} />
    </Stack>
  );
}

type FieldProps = Omit<Props, "cluster">;

export function QueueFields({ fields, onChange }: FieldProps) {
  const t = useTexts();
  const number = (value: string | number) => (typeof value === "number" ? value : Number(value) || 1);
  const common = { min: 1, max: MOST_QUEUES, allowDecimal: false, clampBehavior: "strict" } as const;
  return (
    <Stack gap={6}>
      <Group grow align="flex-start">
        <NumberInput
          label={t(fields.isApart ? "form.readQueues" : "form.queues")}
          description={t("form.queuesHint")}
          inputWrapperOrder={BELOW}
          value={fields.readQueues}
          onChange={(value) =>
            onChange({ readQueues: number(value), ...(fields.isApart ? {} : { writeQueues: number(value) }) })
          }
          {...common}
        />
        {fields.isApart && (
          <NumberInput
            label={t("form.writeQueues")}
            description={t("form.shrinks")}
            inputWrapperOrder={BELOW}
            value={fields.writeQueues}
            onChange={(value) => onChange({ writeQueues: number(value) })}
            {...common}
          />
        )}
      </Group>
      <Checkbox
        label={t("form.apart")}
        checked={fields.isApart}
        onChange={(event) => onChange({ isApart: event.currentTarget.checked })}
      />
    </Stack>
  );
}

export function PermField({ fields, onChange }: FieldProps) {
  const t = useTexts();
  return (
    <Select
      label={t("form.perm")}
      description={t("form.permHint")}
      inputWrapperOrder={BELOW}
      value={String(fields.perm)}
      onChange={(perm) => onChange({ perm: Number(perm) as TopicFields["perm"] })}
      data={[
        { value: "6", label: t("perm.rw") },
        { value: "4", label: t("perm.r") },
        { value: "2", label: t("perm.w") },
      ]}
    />
  );
}

export function OrderedField({ fields, onChange }: FieldProps) {
  const t = useTexts();
  return (
    <Switch
      label={t("form.ordered")}
      description={t("form.orderedHint")}
      checked={fields.isOrdered}
      onChange={(event) => onChange({ isOrdered: event.currentTarget.checked })}
    />
  );
}

/** Only where there is a choice. */
function BrokersField({ cluster, fields, onChange }: Props) {
  const t = useTexts();
  const brokers = useGet("/clusters/{cluster}/brokers/", { params: { cluster } });
  const names = [...new Set((brokers.data?.results ?? []).map((broker) => broker.broker_name))].sort();
  return (
    <Collapse expanded={names.length > 1}>
      <MultiSelect
        label={t("form.brokers")}
        description={t("form.brokersHint")}
        data={names}
        value={fields.brokers}
        onChange={(chosen) => onChange({ brokers: chosen })}
        searchable
      />
    </Collapse>
  );
}

export function Unlike() {
  const t = useTexts();
  return (
    <Text size="xs" c="dimmed">
      {t("form.unlike")}
    </Text>
  );
}
