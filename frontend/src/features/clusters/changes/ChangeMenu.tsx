/** What can be done to a whole cluster, for whoever may: each leads to a plan first. */
import { Button, Menu } from "@mantine/core";
import {
  IconArrowsMaximize,
  IconArrowsMinimize,
  IconChevronDown,
  IconCrown,
  IconLock,
  IconPackage,
  IconRefresh,
  IconReload,
  IconSettings,
  IconTool,
  IconTrash,
} from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/shared/api/client";
import { refresh } from "@/shared/api/queries";
import type { Role } from "@/shared/session/rights";
import { useRights } from "@/shared/session/session";
import { notify, notifyProblem } from "@/shared/ui/notices";
import type { Cluster } from "../cluster_data";
import { useTexts } from "../texts";
import { AccessDialog } from "./AccessDialog";
import { DeleteDialog } from "./DeleteDialog";
import { GrowDialog } from "./GrowDialog";
import { PromoteDialog } from "./PromoteDialog";
import { RepairDialog } from "./RepairDialog";
import { RestartDialog } from "./RestartDialog";
import { ShrinkDialog } from "./ShrinkDialog";
import { UpgradeDialog } from "./UpgradeDialog";

const DIALOGS = {
  restart: RestartDialog,
  upgrade: UpgradeDialog,
  access: AccessDialog,
  grow: GrowDialog,
  shrink: ShrinkDialog,
  promote: PromoteDialog,
  repair: RepairDialog,
  delete: DeleteDialog,
} as const;
type Change = keyof typeof DIALOGS;

const SIZE = 15;
/** In the order of how often they are wanted; who may is the console's own rule. */
const CHANGES: readonly [change: Change, role: Role, icon: React.ReactNode][] = [
  ["restart", "operator", <IconReload key="restart" size={SIZE} />],
  ["repair", "operator", <IconTool key="repair" size={SIZE} />],
  ["promote", "operator", <IconCrown key="promote" size={SIZE} />],
  ["upgrade", "admin", <IconPackage key="upgrade" size={SIZE} />],
  ["access", "admin", <IconLock key="access" size={SIZE} />],
  ["grow", "admin", <IconArrowsMaximize key="grow" size={SIZE} />],
  ["shrink", "admin", <IconArrowsMinimize key="shrink" size={SIZE} />],
];

export function ChangeMenu({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  const { may } = useRights();
  const [asked, setAsked] = useState<Change | null>(null);
  const isManaged = cluster.kind === "managed";
  const isAdmin = may("admin", cluster.name);
  if (!may("operator", cluster.name) || (!isManaged && !isAdmin)) return null;
  const Dialog = asked && DIALOGS[asked];
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={14} />}>
            {t("change.menu")}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {isManaged &&
            CHANGES.filter(([, role]) => may(role, cluster.name)).map(([change, , icon]) => (
              <Menu.Item key={change} leftSection={icon} onClick={() => setAsked(change)}>
                {t(`change.${change}`)}
              </Menu.Item>
            ))}
          {isManaged && (
            <Menu.Item
              leftSection={<IconSettings size={SIZE} />}
              renderRoot={(props) => (
                <Link
                  to="/clusters/$cluster/brokers"
                  params={{ cluster: cluster.name }}
                  search={{ tab: "config" }}
                  {...props}
                />
              )}
            >
              {t("change.configure")}
            </Menu.Item>
          )}
          {!isManaged && <RefreshItem cluster={cluster} />}
          {isAdmin && (
            <>
              <Menu.Divider />
              <Menu.Item
                color="red"
                leftSection={<IconTrash size={SIZE} />}
                onClick={() => setAsked("delete")}
              >
                {t(isManaged ? "change.delete" : "change.detach")}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {Dialog && <Dialog cluster={cluster} onClose={() => setAsked(null)} />}
    </>
  );
}

function RefreshItem({ cluster }: { cluster: Cluster }) {
  const t = useTexts();
  const client = useQueryClient();
  async function again() {
    try {
      await post("/clusters/{cluster}/refresh/", { params: { cluster: cluster.name } });
      await refresh(client, "/clusters/{cluster}/", "/clusters/{cluster}/brokers/");
      notify(t("refreshed"));
    } catch (error) {
      notifyProblem(t("change.refresh"), error);
    }
  }
  return (
    <Menu.Item leftSection={<IconRefresh size={SIZE} />} onClick={() => void again()}>
      {t("change.refresh")}
    </Menu.Item>
  );
}
