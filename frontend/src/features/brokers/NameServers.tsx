/** Name servers beside the brokers that register with them. */
import { Table } from "@mantine/core";
import { formatTime } from "@/shared/format/times";
import { useLocale } from "@/shared/texts/i18n";
import { Panel } from "@/shared/ui/Panel";
import { RelativeTime } from "@/shared/ui/RelativeTime";
import { StateBadge } from "@/shared/ui/StateBadge";
import type { Process } from "./broker_data";
import { type StateName, TONES } from "./broker_state";
import { useTexts } from "./texts";

export function NameServers({ servers }: { servers: readonly Process[] | undefined }) {
  const t = useTexts();
  if (servers === undefined || servers.length === 0) return null;
  return (
    <Panel title={t("nameServers")} flush>
      <Table.ScrollContainer minWidth={480}>
        <Table verticalSpacing={6} horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("column.name")}</Table.Th>
              <Table.Th>{t("column.state")}</Table.Th>
              <Table.Th>{t("column.address")}</Table.Th>
              <Table.Th>{t("column.host")}</Table.Th>
              <Table.Th>{t("one.since")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {servers.map((server) => (
              <Table.Tr key={server.label}>
                <Table.Td fw={550}>{server.label}</Table.Td>
                <Table.Td>
                  <ProcessState process={server} />
                </Table.Td>
                <Table.Td className="sb-mono">{server.address}</Table.Td>
                <Table.Td>{server.host}</Table.Td>
                <Table.Td>
                  <RelativeTime at={server.since} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  );
}

export function ProcessState({ process }: { process: Process }) {
  const t = useTexts();
  const locale = useLocale();
  const isKnown = process.observed in TONES;
  const state = (isKnown ? process.observed : "unknown") as StateName;
  const why = [
    process.last_exit && state !== "running" ? t("why.lastExit", { text: process.last_exit }) : "",
    process.next_start_at ? t("why.nextStart", { time: formatTime(process.next_start_at, locale) }) : "",
  ].filter(Boolean);
  return (
    <StateBadge
      state={state}
      tone={TONES[state]}
      label={t(`state.${state}`)}
      why={why.join(" ") || undefined}
    />
  );
}
