/** The question: a topic, how it is looked for, and filters. It is asked when somebody says so, not while typing. */
import { Button, Group, SegmentedControl, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconSearch, IconStopwatch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { formatCount } from "@/shared/format/numbers";
import { TopicPicker } from "@/shared/message/TopicPicker";
import { useLocale } from "@/shared/texts/i18n";
import type { MessagesSearch } from "./find";
import { BUDGETS, type Way, WAYS } from "./search";
import { useTexts } from "./texts";
import { TimeRange } from "./TimeRange";

interface Props {
  cluster: string;
  search: MessagesSearch;
  isBusy: boolean;
  onFind: (changes: Partial<MessagesSearch>) => void;
  onBackground: (changes: Partial<MessagesSearch>) => void;
}

const FIELDS = [
  "by",
  "topic",
  "key",
  "unique_key",
  "tag",
  "property",
  "body",
  "sql",
  "begin",
  "end",
  "order",
  "budget",
] as const;
type Draft = Pick<MessagesSearch, (typeof FIELDS)[number]> & { offset_id: string };

function draftOf(search: MessagesSearch): Draft {
  return { ...(Object.fromEntries(FIELDS.map((name) => [name, search[name]])) as Draft), offset_id: "" };
}

export function SearchForm({ cluster, search, isBusy, onFind, onBackground }: Props) {
  const t = useTexts();
  const navigate = useNavigate();
  const [draft, setDraft] = useState(() => draftOf(search));
  const [known, setKnown] = useState(search);
  if (known !== search) {
    // Somebody went back, or opened a shared address.
    setKnown(search);
    setDraft({ ...draftOf(search), offset_id: draft.offset_id });
  }
  const change = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const changes = () => ({
    ...(Object.fromEntries(FIELDS.map((name) => [name, draft[name]])) as Partial<MessagesSearch>),
    topic: draft.topic.trim(),
  });
  const isReady = draft.by === "offset_id" ? draft.offset_id.trim() !== "" : draft.topic.trim() !== "";
  function find() {
    if (draft.by === "offset_id") {
      void navigate({
        to: "/clusters/$cluster/messages/$id",
        params: { cluster, id: draft.offset_id.trim() },
      });
    } else onFind(changes());
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) find();
      }}
    >
      <Stack gap="xs" mb="xs">
        <Group gap="sm" align="flex-end">
          <SegmentedControl
            aria-label={t("by.label")}
            value={draft.by}
            onChange={(by) => change({ by: by as Way })}
            data={WAYS.map((way) => ({ value: way, label: t(`by.${way}`) }))}
          />
          <Text size="xs" c="dimmed" pb={4}>
            {t(`by.hint.${draft.by}`)}
          </Text>
        </Group>
        <Group gap="sm" align="flex-end">
          {draft.by !== "offset_id" && (
            <TopicPicker
              cluster={cluster}
              value={draft.topic}
              onChange={(topic) => change({ topic })}
              all
              w={260}
            />
          )}
          <WayFields draft={draft} onChange={change} />
          <Button type="submit" leftSection={<IconSearch size={14} />} disabled={!isReady} loading={isBusy}>
            {t("find")}
          </Button>
          {draft.by === "look" && (
            <Button
              variant="default"
              leftSection={<IconStopwatch size={14} />}
              disabled={!isReady}
              onClick={() => onBackground(changes())}
            >
              {t("background")}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

interface FieldsProps {
  draft: Draft;
  onChange: (changes: Partial<Draft>) => void;
}

function WayFields({ draft, onChange }: FieldsProps) {
  if (draft.by === "look") return <LookFields draft={draft} onChange={onChange} />;
  return (
    <>
      <Field name={draft.by} draft={draft} onChange={onChange} w={300} />
      {draft.by === "key" && <TimeRange begin={draft.begin} end={draft.end} onChange={onChange} />}
    </>
  );
}

function LookFields({ draft, onChange }: FieldsProps) {
  const t = useTexts();
  const locale = useLocale();
  return (
    <>
      <TimeRange begin={draft.begin} end={draft.end} onChange={onChange} />
      <Field name="tag" draft={draft} onChange={onChange} w={120} />
      <Field name="key" draft={draft} onChange={onChange} w={140} />
      <Field
        name="property"
        draft={draft}
        onChange={onChange}
        w={150}
        placeholder={t("field.propertyHint")}
      />
      <Field name="body" draft={draft} onChange={onChange} w={170} />
      <Field name="sql" draft={draft} onChange={onChange} w={230} placeholder={t("field.sqlHint")} />
      <Select
        label={t("field.order")}
        value={draft.order}
        onChange={(order) => onChange({ order: order as Draft["order"] })}
        data={(["newest", "oldest"] as const).map((order) => ({ value: order, label: t(`field.${order}`) }))}
        w={130}
      />
      <Select
        label={t("field.budget")}
        value={String(draft.budget)}
        onChange={(budget) => onChange({ budget: Number(budget) })}
        data={[...new Set([...BUDGETS, draft.budget])].map((budget) => ({
          value: String(budget),
          label: t("field.budgetValue", { count: formatCount(budget, locale) }),
        }))}
        w={160}
      />
    </>
  );
}

type TextField = "key" | "unique_key" | "offset_id" | "tag" | "property" | "body" | "sql";

function Field({
  name,
  draft,
  onChange,
  w,
  placeholder,
}: FieldsProps & { name: TextField; w: number; placeholder?: string }) {
  const t = useTexts();
  return (
    <TextInput
      label={t(`field.${name}`)}
      value={draft[name]}
      placeholder={placeholder}
      onChange={(event) => onChange({ [name]: event.currentTarget.value })}
      spellCheck={false}
      autoComplete="off"
      w={w}
    />
  );
}
