/** What of the log is shown. */
import { Button, Group, Select, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { TimeField } from "@/shared/ui/TimeField";
import { type AuditSearch, isFiltered, NO_FILTERS } from "./filters";
import { useTexts } from "./texts";

const TEXTS = ["actor", "action", "cluster", "target"] as const;
const TIMES = ["since", "until"] as const;

export function Filters({
  search,
  onFind,
}: {
  search: AuditSearch;
  onFind: (changes: Partial<AuditSearch>) => void;
}) {
  const t = useTexts();
  const [draft, setDraft] = useState(search);
  const set = (changes: Partial<AuditSearch>) => setDraft((before) => ({ ...before, ...changes }));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const { actor, action, cluster, target, since, until, ok } = draft;
        onFind({
          actor: actor.trim(),
          action: action.trim(),
          cluster: cluster.trim(),
          target: target.trim(),
          since,
          until,
          ok,
        });
      }}
    >
      <Group gap="sm" align="flex-end" mb="sm">
        {TEXTS.map((name) => (
          <TextInput
            key={name}
            label={t(`filter.${name}`)}
            placeholder={name === "action" ? t("filter.actionHint") : undefined}
            value={draft[name]}
            onChange={(event) => set({ [name]: event.currentTarget.value })}
            spellCheck={false}
            w={name === "action" ? 146 : 104}
          />
        ))}
        {TIMES.map((name) => (
          <TimeField
            key={name}
            label={t(`filter.${name}`)}
            value={draft[name]}
            onChange={(at) => set({ [name]: at })}
            w={178}
          />
        ))}
        <Select
          label={t("filter.outcome")}
          value={draft.ok ?? ""}
          onChange={(ok) => set({ ok: ok === "true" || ok === "false" ? ok : null })}
          data={[
            { value: "", label: t("filter.any") },
            { value: "true", label: t("filter.ok") },
            { value: "false", label: t("filter.failed") },
          ]}
          w={106}
        />
        <Button type="submit" variant="default" leftSection={<IconSearch size={14} />}>
          {t("filter.find")}
        </Button>
        {isFiltered(search) && (
          <Button variant="subtle" onClick={() => onFind(NO_FILTERS)}>
            {t("filter.clear")}
          </Button>
        )}
      </Group>
    </form>
  );
}
