/** Whose a topic or group is; those who may can say it. No broker is asked, so there is nothing to preview. */
import { Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useShared } from "@/shared/texts/shared";
import { Confirm } from "@/shared/ui/Confirm";
import { KeyValue } from "@/shared/ui/KeyValue";
import { notify } from "@/shared/ui/notices";
import { Panel } from "@/shared/ui/Panel";
import { Tag } from "@/shared/ui/StateBadge";
import { type About, AboutFields, aboutOf, textOf } from "./AboutFields";
import { useAboutTexts } from "./texts";

interface Props {
  about: About & { document: string };
  mayEdit: boolean;
  onSave: (about: About) => Promise<unknown>;
}

export function AboutPanel({ about, mayEdit, onSave }: Props) {
  const t = useAboutTexts();
  const shared = useShared();
  const [isOpen, dialog] = useDisclosure(false);
  const { owner, team, description, document } = about;
  const labels = Object.entries(about.labels);
  const isSaid = [owner, team, description, document].some(Boolean) || labels.length > 0;
  return (
    <Panel
      title={t("title")}
      aside={
        mayEdit && (
          <Button variant="subtle" onClick={dialog.open}>
            {shared("action.edit")}
          </Button>
        )
      }
    >
      {isSaid ? (
        <KeyValue
          items={[
            owner ? [t("owner"), owner] : null,
            team ? [t("team"), team] : null,
            description ? [t("description"), description] : null,
            document ? [t("document"), document] : null,
            labels.length > 0 ? [t("labels"), <LabelTags key="labels" labels={labels} />] : null,
          ]}
        />
      ) : (
        <Text size="sm" c="dimmed">
          {t("nobody")}
        </Text>
      )}
      {isOpen && <Editing about={about} onSave={onSave} onClose={dialog.close} />}
    </Panel>
  );
}

function LabelTags({ labels }: { labels: [string, string][] }) {
  return (
    <Group gap={4}>
      {labels.map(([name, value]) => (
        <Tag key={name}>{`${name}=${value}`}</Tag>
      ))}
    </Group>
  );
}

function Editing({ about, onSave, onClose }: { about: About; onSave: Props["onSave"]; onClose: () => void }) {
  const t = useAboutTexts();
  const shared = useShared();
  const [text, setText] = useState(() => textOf(about));
  async function save() {
    const said = aboutOf(text);
    if (said === null) throw new Error(t("labelsWrong"));
    await onSave(said);
    notify(t("saved"));
  }
  return (
    <Confirm
      opened
      onClose={onClose}
      title={t("title")}
      actionLabel={shared("action.save")}
      isDanger={false}
      onConfirm={save}
    >
      <AboutFields about={text} onChange={(changes) => setText({ ...text, ...changes })} />
    </Confirm>
  );
}
