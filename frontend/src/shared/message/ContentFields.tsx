/** Body, tag, keys and properties of a message that is written by hand. */
import {
  FileInput,
  Group,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { formatBytes } from "@/shared/format/bytes";
import { useLocale } from "@/shared/texts/i18n";
import { bodyBytes, type Draft, faultsOf, MAX_BODY_BYTES } from "./content";
import { useTexts } from "./texts";

interface Props {
  draft: Draft;
  onChange: (changes: Partial<Draft>) => void;
  /** A body that cannot be written anew: it is sent as it is stored. */
  keepsBody?: boolean;
}

export function ContentFields({ draft, onChange, keepsBody = false }: Props) {
  const t = useTexts();
  const faults = faultsOf(draft);
  return (
    <Stack gap="sm">
      {!keepsBody && <BodyField draft={draft} onChange={onChange} />}
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        <TextInput
          label={t("content.tags")}
          description={t("content.tagsHint")}
          value={draft.tags}
          maxLength={255}
          onChange={(event) => onChange({ tags: event.currentTarget.value })}
        />
        <TextInput
          label={t("content.keys")}
          description={t("content.keysHint")}
          value={draft.keys}
          onChange={(event) => onChange({ keys: event.currentTarget.value })}
        />
      </SimpleGrid>
      <Textarea
        label={t("content.properties")}
        description={t("content.propertiesHint")}
        value={draft.properties}
        onChange={(event) => onChange({ properties: event.currentTarget.value })}
        error={faults.properties && t("content.badProperty", { line: faults.properties })}
        autosize
        minRows={2}
        maxRows={8}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
      />
    </Stack>
  );
}

function BodyField({ draft, onChange }: Omit<Props, "keepsBody">) {
  const t = useTexts();
  const locale = useLocale();
  const fault = faultsOf(draft).body;
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          aria-label={t("content.bodyKind")}
          value={draft.kind}
          onChange={(kind) => onChange({ kind: kind as Draft["kind"] })}
          data={(["text", "base64", "file"] as const).map((kind) => ({
            value: kind,
            label: t(`content.${kind}`),
          }))}
        />
        <Text size="xs" c={fault === "tooLarge" ? "var(--mantine-color-error)" : "dimmed"}>
          {t("content.bytes", { size: formatBytes(bodyBytes(draft), locale) })}
        </Text>
      </Group>
      {draft.kind === "file" ? (
        <FileInput
          label={t("content.body")}
          placeholder={t("content.chooseFile")}
          error={fault && t(`content.${fault}`)}
          onChange={(file) => void readFile(file, onChange)}
          clearable
        />
      ) : (
        <Textarea
          label={t("content.body")}
          value={draft.kind === "text" ? draft.text : draft.base64}
          onChange={(event) => onChange({ [draft.kind]: event.currentTarget.value })}
          error={fault && t(`content.${fault}`)}
          autosize
          minRows={8}
          maxRows={24}
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5 } }}
        />
      )}
      {draft.kind === "file" && draft.file && (
        <Text size="xs" c="dimmed">
          {t("content.fileChosen", {
            name: draft.file.name,
            size: formatBytes(draft.file.bytes.length, locale),
          })}
        </Text>
      )}
    </Stack>
  );
}

async function readFile(file: File | null, onChange: Props["onChange"]) {
  if (file === null) {
    onChange({ file: null });
    return;
  }
  // One byte more than may be sent is enough to say that it is too large.
  const bytes = new Uint8Array(await file.slice(0, MAX_BODY_BYTES + 1).arrayBuffer());
  onChange({ file: { name: file.name, bytes } });
}
