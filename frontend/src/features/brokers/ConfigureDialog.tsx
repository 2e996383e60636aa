/** Changing one setting: of all brokers, of a group, or of one broker; by a plan first. */
import { Checkbox, Select, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { OperationDialog } from "@/shared/ui/OperationDialog";
import { commonOf, type SettingLine, type SettingsAnswer } from "./settings_lines";
import { useTexts } from "./texts";

interface Props {
  cluster: string;
  line: SettingLine;
  brokers: SettingsAnswer["brokers"];
  only?: string;
  onClose: () => void;
}

export function ConfigureDialog({ cluster, line, brokers, only, onClose }: Props) {
  const t = useTexts();
  const [value, setValue] = useState(commonOf(line) ?? "");
  const [scope, setScope] = useState(only ? `process/${only}` : "cluster/");
  const [isReset, setReset] = useState(false);
  const [needsApproval, setNeedsApproval] = useState(false);
  const [kind, name] = scope.split("/") as [string, string];
  const choices = line.rule?.split("|") ?? [];
  const isChoice = choices.length > 1 && choices.every((one) => /^\w+$/.test(one));
  const groups = [...new Set(brokers.map((one) => one.broker_name))];
  const body = {
    changes: { [line.key]: isReset ? null : value },
    ...(kind === "group" ? { group: name } : {}),
    ...(kind === "process" ? { process: name } : {}),
    needs_approval: needsApproval,
  };
  return (
    <OperationDialog
      opened
      onClose={onClose}
      title={t("configure.title", { key: line.key })}
      applyLabel={t("configure.apply")}
      canPreview={isReset || value !== ""}
      ask={(isDryRun) =>
        post("/clusters/{cluster}/configure/", { params: { cluster }, body, query: { dry_run: isDryRun } })
      }
    >
      <Stack gap="sm">
        {isChoice ? (
          <Select
            label={t("configure.value")}
            data={choices}
            value={value}
            onChange={(one) => setValue(one ?? "")}
            disabled={isReset}
          />
        ) : (
          <TextInput
            label={t("configure.value")}
            description={t("configure.rule", { rule: line.rule ?? "" })}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            disabled={isReset}
            spellCheck={false}
            data-autofocus
          />
        )}
        <Select
          label={t("configure.scope")}
          value={scope}
          onChange={(one) => setScope(one ?? "cluster/")}
          data={[
            { value: "cluster/", label: t("configure.cluster") },
            ...groups.map((one) => ({ value: `group/${one}`, label: t("configure.group", { name: one }) })),
            ...brokers.map((one) => ({
              value: `process/${one.broker}`,
              label: t("configure.process", { name: one.broker }),
            })),
          ]}
        />
        {!line.is_live && (
          <Checkbox
            label={t("configure.reset")}
            description={t("configure.resetWhy")}
            checked={isReset}
            onChange={(event) => setReset(event.currentTarget.checked)}
          />
        )}
        <Checkbox
          label={t("configure.approval")}
          checked={needsApproval}
          onChange={(event) => setNeedsApproval(event.currentTarget.checked)}
        />
        <Text size="xs" c="dimmed">
          {t(line.is_live ? "settings.liveWhy" : "settings.restartWhy")}
        </Text>
      </Stack>
    </OperationDialog>
  );
}
