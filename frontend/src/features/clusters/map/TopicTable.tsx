/** The same as the map, as a table: for readers of screens, narrow windows and those who like tables. */
import { Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Count, Rate } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { PlainText } from "@/shared/ui/TextBody";
import { useTexts } from "../texts";
import { sumLag, type Topic, wholeLag } from "./graph";
import classes from "./MapPanel.module.css";

export function TopicTable({ cluster, topics }: { cluster: string; topics: readonly Topic[] }) {
  const t = useTexts();
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={t("map.label")}>
      <Table verticalSpacing={6} horizontalSpacing="md" miw={620} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t("table.topic")}</Table.Th>
            <Table.Th ta="right">{t("table.rate")}</Table.Th>
            <Table.Th>{t("table.brokers")}</Table.Th>
            <Table.Th ta="right">{t("table.lag")}</Table.Th>
            <Table.Th>{t("table.groups")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {topics.map((topic) => (
            <Line key={topic.topic} cluster={cluster} topic={topic} />
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Line({ cluster, topic }: { cluster: string; topic: Topic }) {
  const t = useTexts();
  const isUnread = topic.groups.length + topic.hidden_groups === 0;
  return (
    <Table.Tr>
      <Table.Td>
        <Link to="/clusters/$cluster/topics/$topic" params={{ cluster, topic: topic.topic }}>
          <PlainText text={topic.topic} />
        </Link>
      </Table.Td>
      <Table.Td ta="right">
        <Rate value={topic.put_rate} />
      </Table.Td>
      <Table.Td>
        {topic.brokers.map((part) => (
          <div key={part.broker}>{`${part.broker} · ${t("map.queues", { count: part.write_queues })}`}</div>
        ))}
      </Table.Td>
      <Table.Td ta="right">
        {isUnread ? null : (
          <Count value={topic.hidden_groups > 0 ? null : sumLag(topic.groups.map(wholeLag))} />
        )}
      </Table.Td>
      <Table.Td>
        <div className={classes.groups}>
          {topic.groups.map((reader) => (
            <span key={reader.group} className={classes.group}>
              <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group: reader.group }}>
                <PlainText text={reader.group} />
              </Link>
              <Lag of={reader} />
            </span>
          ))}
          {topic.hidden_groups > 0 && <span>{t("map.hidden", { count: topic.hidden_groups })}</span>}
          {isUnread && <span className="sb-stale">{t("table.none")}</span>}
        </div>
      </Table.Td>
    </Table.Tr>
  );
}
