/** Where a group is to go: six ways, one form. */
import { MultiSelect, Radio, ScrollArea, SimpleGrid, Stack, Table, Text, TextInput } from "@mantine/core";
import { Count } from "@/shared/ui/Figure";
import { REACHABLE } from "@/shared/ui/scrolling";
import { placeOf, wholeOf } from "./group";
import { KINDS, type Place, type ResetFields } from "./reset_form";
import { useTexts } from "./texts";

interface Props {
  fields: ResetFields;
  places: readonly Place[];
  topics: readonly string[];
  onChange: (changes: Partial<ResetFields>) => void;
}

export function ResetForm({ fields, places, topics, onChange }: Props) {
  const t = useTexts();
  return (
    <Stack gap="sm">
      <Radio.Group
        label={t("reset.to")}
        value={fields.to}
        onChange={(to) => onChange({ to: to as ResetFields["to"] })}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm" mt={6}>
          {KINDS.map((kind) => (
            <Radio key={kind} value={kind} label={t(`reset.kind.${kind}`)} size="xs" />
          ))}
        </SimpleGrid>
      </Radio.Group>
      <Particulars fields={fields} places={places} topics={topics} onChange={onChange} />
      {fields.to !== "exact" && topics.length > 1 && (
        <MultiSelect
          label={t("reset.topics")}
          description={t("reset.topicsHint")}
          data={[...topics]}
          value={fields.topics}
          onChange={(chosen) => onChange({ topics: chosen })}
          searchable
        />
      )}
    </Stack>
  );
}

function Particulars({ fields, places, onChange }: Props) {
  const t = useTexts();
  if (fields.to === "time") {
    return (
      <TextInput
        type="datetime-local"
        step={1}
        label={t("reset.at")}
        description={t("reset.atHint")}
        value={fields.at}
        onChange={(event) => onChange({ at: event.currentTarget.value })}
        required
      />
    );
  }
  if (fields.to === "shift") {
    return (
      <TextInput
        label={t("reset.by")}
        description={t("reset.byHint")}
        value={fields.by}
        onChange={(event) => onChange({ by: event.currentTarget.value })}
        error={
          fields.by !== "" && fields.by !== "-" && wholeOf(fields.by) === null
            ? t("reset.byWrong")
            : undefined
        }
        inputMode="numeric"
        required
      />
    );
  }
  if (fields.to === "copy") {
    return (
      <TextInput
        label={t("reset.source")}
        value={fields.source}
        onChange={(event) => onChange({ source: event.currentTarget.value })}
        spellCheck={false}
        autoComplete="off"
        required
      />
    );
  }
  return fields.to === "exact" ? <ExactQueues fields={fields} places={places} onChange={onChange} /> : null;
}

function ExactQueues({ fields, places, onChange }: Omit<Props, "topics">) {
  const t = useTexts();
  if (places.length === 0) return <Text size="sm">{t("reset.noQueues")}</Text>;
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {t("reset.exactHint")}
      </Text>
      <ScrollArea.Autosize {...REACHABLE} mah={280}>
        <Table verticalSpacing={3} stickyHeader>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("reset.topic")}</Table.Th>
              <Table.Th>{t("reset.broker")}</Table.Th>
              <Table.Th ta="right">{t("reset.queue")}</Table.Th>
              <Table.Th ta="right">{t("reset.from")}</Table.Th>
              <Table.Th w={150}>{t("reset.wanted")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {places.map((place) => {
              const key = placeOf(place);
              const typed = fields.offsets[key] ?? "";
              return (
                <Table.Tr key={key}>
                  <Table.Td>{place.topic}</Table.Td>
                  <Table.Td>{place.broker}</Table.Td>
                  <Table.Td ta="right">{place.queue}</Table.Td>
                  <Table.Td ta="right">
                    <Count value={place.committed} />
                  </Table.Td>
                  <Table.Td>
                    <TextInput
                      aria-label={`${t("reset.wanted")}: ${place.topic} ${place.broker} ${place.queue}`}
                      value={typed}
                      onChange={(event) =>
                        onChange({ offsets: { ...fields.offsets, [key]: event.currentTarget.value } })
                      }
                      error={typed !== "" && wholeOf(typed) === null}
                      inputMode="numeric"
                    />
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
    </Stack>
  );
}
