/** Whose a topic or group is, as fields of a form. */
import { Group, Stack, Textarea, TextInput } from "@mantine/core";
import { type Labels, labelsText, parseLabels } from "./labels";
import { useAboutTexts } from "./texts";

export interface About {
  owner: string;
  team: string;
  description: string;
  labels: Labels;
}

/** As it is typed. */
export interface AboutText {
  owner: string;
  team: string;
  description: string;
  labels: string;
}

export const NOTHING_SAID: AboutText = { owner: "", team: "", description: "", labels: "" };

export function textOf({ owner, team, description, labels }: About): AboutText {
  return { owner, team, description, labels: labelsText(labels) };
}

/** Null while the labels cannot be read. */
export function aboutOf({ owner, team, description, labels }: AboutText): About | null {
  const read = parseLabels(labels);
  return read && { owner: owner.trim(), team: team.trim(), description: description.trim(), labels: read };
}

/** Of something new: only what was said. */
export function saidOf(text: AboutText): Partial<About> {
  const { labels = {}, ...words } = aboutOf(text) ?? {};
  const said = Object.entries(words).filter(([, word]) => word !== "");
  return { ...Object.fromEntries(said), ...(Object.keys(labels).length > 0 ? { labels } : {}) };
}

interface Props {
  about: AboutText;
  onChange: (changes: Partial<AboutText>) => void;
}

export function AboutFields({ about, onChange }: Props) {
  const t = useAboutTexts();
  return (
    <Stack gap="sm">
      <Group grow>
        <TextInput
          label={t("owner")}
          value={about.owner}
          onChange={(event) => onChange({ owner: event.currentTarget.value })}
          maxLength={150}
        />
        <TextInput
          label={t("team")}
          value={about.team}
          onChange={(event) => onChange({ team: event.currentTarget.value })}
          maxLength={64}
        />
      </Group>
      <Textarea
        label={t("description")}
        value={about.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
        maxLength={4000}
        autosize
        minRows={2}
        maxRows={8}
      />
      <TextInput
        label={t("labels")}
        description={t("labelsHint")}
        value={about.labels}
        onChange={(event) => onChange({ labels: event.currentTarget.value })}
        error={parseLabels(about.labels) === null ? t("labelsWrong") : undefined}
      />
    </Stack>
  );
}
