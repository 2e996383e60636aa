/** Where its processes go, and who must approve it. */
import { Alert, Anchor, Checkbox, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { TONED } from "@/shared/ui/plan_views";
import { useTexts } from "../texts";
import type { StepProps } from "./CreateWizard";
import { hostsOf } from "./draft";
import { HostChoice, useHosts } from "./HostChoice";

export function HostsStep({ draft, setDraft }: StepProps) {
  const t = useTexts();
  const { hosts } = useHosts();
  const chosen = hostsOf(draft);
  const usable = hosts?.filter((host) => !host.is_silent && !host.is_cordoned).length;
  const count = chosen.length > 0 ? chosen.length : usable;
  const members = 1 + draft.slaves;
  const isTight = count !== undefined && count < members && !draft.share;
  return (
    <Stack gap="md" maw={620}>
      {usable === 0 && (
        <Alert className="sb-warn" styles={TONED}>
          {t("make.hostsNone")}{" "}
          <Anchor renderRoot={(props) => <Link to="/hosts" search={{ join: true }} {...props} />}>
            {t("make.hostsJoin")}
          </Anchor>
        </Alert>
      )}
      <HostChoice value={chosen} onChange={(names) => setDraft({ hosts: names.join(",") })} />
      {isTight && usable !== 0 && (
        <Alert className="sb-warn" styles={TONED}>
          {t("make.sameHostNeeded", { members, hosts: count })}
        </Alert>
      )}
      <Checkbox
        label={t("make.sameHost")}
        description={t("make.sameHostHint")}
        checked={draft.share}
        onChange={(event) => setDraft({ share: event.currentTarget.checked })}
      />
      <Checkbox
        label={t("make.approval")}
        description={t("make.approvalHint")}
        checked={draft.approval}
        onChange={(event) => setDraft({ approval: event.currentTarget.checked })}
      />
    </Stack>
  );
}
