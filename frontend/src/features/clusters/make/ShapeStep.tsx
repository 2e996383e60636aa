/** What it is called and how large it is. */
import { NumberInput, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useTexts } from "../texts";
import type { StepProps } from "./CreateWizard";
import { brokersOf, isName } from "./draft";
import { ShapePicture } from "./ShapePicture";

export function ShapeStep({ draft, setDraft }: StepProps) {
  const t = useTexts();
  const isWrong = draft.name !== "" && !isName(draft.name);
  return (
    <Stack gap="md">
      <TextInput
        label={t("make.name")}
        description={t("make.nameHint")}
        value={draft.name}
        onChange={(event) => setDraft({ name: event.currentTarget.value })}
        error={isWrong ? t("make.nameHint") : undefined}
        required
        autoFocus
        maw={380}
        spellCheck={false}
        autoComplete="off"
      />
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <NumberInput
          label={t("make.groups")}
          description={t("make.groupsHint")}
          min={1}
          max={64}
          value={draft.groups}
          onChange={(value) => setDraft({ groups: Number(value) || 1 })}
        />
        <NumberInput
          label={t("make.slaves")}
          description={t("make.slavesHint")}
          min={0}
          max={8}
          value={draft.slaves}
          onChange={(value) => setDraft({ slaves: Number(value) || 0 })}
        />
        <NumberInput
          label={t("make.nameServers")}
          description={t("make.nameServersHint")}
          min={1}
          max={9}
          value={draft.servers}
          onChange={(value) => setDraft({ servers: Number(value) || 1 })}
        />
      </SimpleGrid>
      <ShapePicture groups={draft.groups} slaves={draft.slaves} servers={draft.servers} />
      <Text size="sm" c="dimmed">
        {t("make.shape", { count: brokersOf(draft) })}
      </Text>
      <TextInput
        label={t("make.labels")}
        description={t("make.labelsHint")}
        value={draft.labels}
        onChange={(event) => setDraft({ labels: event.currentTarget.value })}
        maw={380}
        spellCheck={false}
      />
    </Stack>
  );
}
